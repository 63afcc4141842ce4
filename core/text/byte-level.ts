/**
 * GPT-2's byte alphabet: every byte as one printable character, so that a vocabulary of strings can hold any bytes.
 * Printable Latin-1 bytes stand for themselves; the other 68 take the characters from U+0100 on, in byte order.
 */

function buildAlphabet(): string[] {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

/** `byteToChar[b]` stands for byte b. */
export const byteToChar: readonly string[] = buildAlphabet();

const charToByte = new Map(byteToChar.map((char, byte) => [char, byte]));

/** The bytes that `chars` stands for; undefined when a character is not of the alphabet. */
export function fromByteChars(chars: string): Uint8Array | undefined {
  const bytes = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i++) {
    const byte = charToByte.get(chars.charAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}
