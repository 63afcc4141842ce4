/** The quantisations of a GGUF repository, told apart by their files' names, and which of them suits a machine. */

import { HoneError } from "../contract/errors.ts";
import { memoryVerdict, type Room } from "../contract/fits.ts";
import type { Quant, RepoSnapshot } from "../contract/hub.ts";
import { nearest } from "../contract/nearest.ts";
import { showRef } from "./sources/parse-reference.ts";

/** `Q4_K_M`, `UD-Q4_K_XL`, `IQ4_NL`, `F16`, … in a file's or its folder's name. */
const quantName =
  /(?:^|[-._/])((?:UD-)?(?:I?Q\d(?:_[0-9A-Z]+)*|TQ\d_\d|BF16|F(?:P)?16|F(?:P)?32|MXFP4(?:_MOE)?))(?=$|[-._/])/gi;
const part = /-(\d{5})-of-(\d{5})$/;

/** Formats that the engine computes with; others, such as IQ and TQ, it refuses. */
const readable = /^(?:UD-)?(?:F16|BF16|F32|Q4_0|Q4_1|Q5_0|Q5_1|Q8_0|Q[2-6]_K(?:_\w+)?)$/;

/** Beside the weights: Hone itself, and a conversation of some thousand tokens. */
const overhead = 400e6;

/** Smallest file first. The sizes of split files are added up. */
export function listQuants({ files, parameters }: RepoSnapshot, machine: Room): Quant[] {
  const found = new Map<string, { files: string[]; bytes: number; parts: number }>();
  for (const { path, size } of files) {
    if (!/\.gguf$/i.test(path) || /mmproj|imatrix/i.test(path)) continue;
    const stem = path.slice(0, -".gguf".length);
    const split = part.exec(stem);
    const name = quantOf(split === null ? stem : stem.slice(0, split.index));
    const entry = found.get(name) ?? { files: [], bytes: 0, parts: Number(split?.[2] ?? 1) };
    // Two files of one quantisation that are no parts: the first is it.
    if (split === null && entry.files.length > 0) continue;
    entry.files.push(path);
    entry.bytes += size;
    found.set(name, entry);
  }
  const quants = [...found].map(([name, { files: paths, bytes, parts }]) => ({
    name,
    files: paths.sort(),
    bytes,
    bits_per_weight: parameters === null || parameters === 0 ? null : Number(((8 * bytes) / parameters).toFixed(2)),
    quality: parts > 1 ? `${qualityOf(name)}; in ${parts} parts, which the engine does not open` : qualityOf(name),
    supported: readable.test(name) && parts === 1,
    verdict: memoryVerdict(bytes + overhead, machine),
    recommended: false,
  }));
  quants.sort((a, b) => a.bytes - b.bytes);
  const best = recommend(quants);
  return quants.map((quant) => ({ ...quant, recommended: quant === best }));
}

/** The quantisation that a file's name tells, without its ending; the name itself where it tells none. */
export function quantOf(stem: string): string {
  const names = [...stem.matchAll(quantName)];
  const name = names.at(-1)?.[1].toUpperCase().replace("FP", "F");
  return name ?? stem.slice(stem.lastIndexOf("/") + 1);
}

/** Files up to this size are read so fast that nothing is won with fewer bits, and small models lose most by them. */
const smallFile = 1.6e9;
const balanced = [
  "Q4_K_M",
  "UD-Q4_K_XL",
  "Q5_K_M",
  "Q4_K_S",
  "Q4_1",
  "Q4_0",
  "Q5_K_S",
  "Q6_K",
  "Q8_0",
  "Q3_K_L",
  "Q3_K_M",
];
const careful = ["Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q4_K_M", "Q4_1", "Q4_K_S", "Q4_0", "F16", "BF16"];

/** Nearly lossless where that is small; else the usual balance of size and quality; else the largest that fits at all. */
function recommend(quants: readonly Quant[]): Quant | undefined {
  const usable = quants.filter(({ supported }) => supported);
  for (const verdict of ["fits", "tight"] as const) {
    const fitting = usable.filter((quant) => quant.verdict === verdict);
    const first = (names: readonly string[], most: number) =>
      names.map((name) => fitting.find((quant) => quant.name === name && quant.bytes <= most)).find(Boolean);
    const found = first(careful, smallFile) ?? first(balanced, Number.POSITIVE_INFINITY) ?? fitting.at(-1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function qualityOf(name: string): string {
  const plain = name.replace("UD-", "");
  if (/^B?F(?:16|32)$/.test(plain)) return "as it was trained";
  if (/^Q8/.test(plain)) return "no loss that one notices";
  if (/^Q6/.test(plain)) return "hardly any loss";
  if (/^Q5/.test(plain)) return "little loss";
  if (/^I?Q4|^MXFP4/.test(plain)) return "some loss, for half the size of 8 bits: the usual choice";
  if (/^I?Q3/.test(plain)) return "clear loss";
  return /^(?:I?Q[12]|TQ)/.test(plain) ? "strong loss: only where nothing else fits" : "unknown";
}

/** The quantisation that is named (its name, or a file's), else the recommended one. Throws `no-such-quant`, `no-quant-fits`. */
export function requireQuant(quants: readonly Quant[], wanted: string | null, { ref }: RepoSnapshot): Quant {
  if (wanted !== null) {
    const name = wanted.toUpperCase();
    const found = quants.find((quant) => quant.name.toUpperCase() === name || quant.files.includes(wanted));
    if (found !== undefined) return found;
    const names = quants.map((quant) => quant.name);
    const near = nearest(name, names);
    throw new HoneError("no-such-quant", `${showRef(ref)} has no quantisation ${JSON.stringify(wanted)}`, {
      fix: `${near === undefined ? "" : `did you mean ${near}? `}it has ${names.join(", ")}`,
    });
  }
  const best = quants.find(({ recommended }) => recommended);
  if (best !== undefined) return best;
  const anyReadable = quants.some(({ supported }) => supported);
  throw new HoneError(
    "no-quant-fits",
    anyReadable
      ? `no quantisation of ${showRef(ref)} fits into this machine's memory`
      : `the engine opens none of the GGUF files of ${showRef(ref)}`,
    {
      fix: anyReadable
        ? "choose a smaller model, or name a quantisation all the same, such as " + quants[0].name
        : "choose a repository with single files such as Q4_K_M or Q8_0, or the safetensors version",
    },
  );
}
