/** Whether something fits, in one word, by the same rule everywhere. */

export interface Room {
  memory_bytes: number;
  /** Memory that no program uses now. */
  free_bytes: number;
}

/** A tenth stays for the rest of the system. */
const usable = 0.9;

/** `fits` beside what runs now; `tight` once other programs are closed; otherwise `does_not_fit`. Bytes. */
export function memoryVerdict(needed: number, { memory_bytes, free_bytes }: Room): "fits" | "tight" | "does_not_fit" {
  if (needed <= usable * free_bytes) return "fits";
  return needed <= usable * memory_bytes ? "tight" : "does_not_fit";
}

/** A disk that is full to the last byte stops the system: a gigabyte stays, or a twentieth of what is free. Bytes. */
export function diskVerdict(needed: number, free: number): "fits" | "tight" | "does_not_fit" {
  if (needed > free) return "does_not_fit";
  return needed <= free - Math.min(1e9, free / 20) ? "fits" : "tight";
}
