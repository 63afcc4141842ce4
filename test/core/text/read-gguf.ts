/** A small reader of GGUF key-values, so that these tests do not depend on the native binding. */

import { open } from "node:fs/promises";

const scalarSizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

export async function readGgufMetadata(path: string): Promise<Record<string, unknown>> {
  const file = await open(path);
  // The key-values stand at the front; 64 MiB holds any vocabulary.
  const buffer = Buffer.alloc(64 * 1024 * 1024);
  await file.read(buffer, 0, buffer.length, 0);
  await file.close();
  let at = 0;
  const u32 = () => buffer.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(buffer.readBigUInt64LE((at += 8) - 8));
  const string = () => {
    const length = u64();
    return buffer.toString("utf8", at, (at += length));
  };
  const value = (type: number): unknown => {
    if (type === 8) return string();
    if (type === 9) {
      const itemType = u32();
      const length = u64();
      return Array.from({ length }, () => value(itemType));
    }
    const start = at;
    at += scalarSizes[type] ?? 0;
    switch (type) {
      case 0:
        return buffer.readUInt8(start);
      case 1:
        return buffer.readInt8(start);
      case 2:
        return buffer.readUInt16LE(start);
      case 3:
        return buffer.readInt16LE(start);
      case 4:
        return buffer.readUInt32LE(start);
      case 5:
        return buffer.readInt32LE(start);
      case 6:
        return buffer.readFloatLE(start);
      case 7:
        return buffer.readUInt8(start) !== 0;
      case 10:
        return buffer.readBigUInt64LE(start);
      case 11:
        return buffer.readBigInt64LE(start);
      case 12:
        return buffer.readDoubleLE(start);
      default:
        throw new Error(`GGUF value type ${type}`);
    }
  };
  if (buffer.toString("latin1", 0, 4) !== "GGUF") throw new Error(`${path} is not a GGUF file`);
  at = 8;
  u64();
  const count = u64();
  const metadata: Record<string, unknown> = {};
  for (let i = 0; i < count; i++) {
    const key = string();
    metadata[key] = value(u32());
  }
  return metadata;
}
