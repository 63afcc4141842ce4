/** The head of a safetensors file: names, types and places of its tensors. https://huggingface.co/docs/safetensors */

import { z } from "zod";
import { HoneError } from "../contract/errors.ts";
import type { ReadAt } from "./remote-header.ts";

/** As the reference implementation has it. */
const maxHeader = 100e6;
/** Enough for most models in one request. */
const firstRead = 256 * 1024;

const bytesOf: Record<string, number> = {
  ...{ F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2 },
  ...{ I8: 1, U8: 1, BOOL: 1, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1 },
};

const count = z.number().int().min(0);
const headerSchema = z.record(
  z.string(),
  z.union([
    z.object({ dtype: z.string(), shape: z.array(count).max(16), data_offsets: z.tuple([count, count]) }),
    z.record(z.string(), z.string()),
  ]),
);

export interface TensorTotals {
  parameters: number;
  bytes: number;
  tensors: number;
  /** Parameters of each type. */
  dtypes: Record<string, number>;
}

/** Throws `bad-header` for what is no safetensors file, or one whose parts do not fit into its size. */
export async function readSafetensorsHeader(read: ReadAt, path: string, size: number): Promise<TensorTotals> {
  const bad = (why: string) =>
    new HoneError("bad-header", `${path} is no whole safetensors file: ${why}`, {
      fix: "choose another revision or repository",
    });
  const head = await read(path, 0, Math.min(size, firstRead));
  if (head.length < 8) throw bad("it is too short");
  const length = Number(head.readBigUInt64LE(0));
  if (length > maxHeader || 8 + length > size) throw bad(`its header claims ${length} bytes`);
  const rest = 8 + length > head.length ? await read(path, head.length, 8 + length) : Buffer.alloc(0);
  const text = Buffer.concat([head, rest]).subarray(8, 8 + length);
  let json: unknown;
  try {
    json = JSON.parse(text.toString("utf8"));
  } catch {
    throw bad("its header is not JSON");
  }
  const parsed = headerSchema.safeParse(json);
  if (!parsed.success) throw bad(`its header has another form (${parsed.error.issues[0].path.join(".")})`);

  const totals: TensorTotals = { parameters: 0, bytes: 0, tensors: 0, dtypes: {} };
  for (const [name, tensor] of Object.entries(parsed.data)) {
    if (name === "__metadata__" || !Array.isArray(tensor.data_offsets) || !Array.isArray(tensor.shape)) continue;
    const dtype = String(tensor.dtype);
    const [start, end] = tensor.data_offsets;
    const elements = tensor.shape.reduce((product, side) => product * side, 1);
    const expected = bytesOf[dtype] === undefined ? end - start : elements * bytesOf[dtype];
    if (end < start || 8 + length + end > size || expected !== end - start) {
      throw bad(`the tensor ${name.slice(0, 100)} does not fit its place`);
    }
    totals.parameters += elements;
    totals.bytes += end - start;
    totals.tensors += 1;
    totals.dtypes[dtype] = (totals.dtypes[dtype] ?? 0) + elements;
  }
  return totals;
}
