/** What can go wrong between a hub and its client, chosen by a seed. */

import { Random } from "../../core/contract/random.ts";

/** Faults at any request: the answer is an error, or there is none. */
const anywhere = ["reset", "status-429", "status-500", "status-502", "status-503", "status-504", "hang"] as const;

/** Faults at the address that a hub gives for a file. */
const atAddress = ["expired-signature", "redirect-loop", "revision-moves"] as const;

/** Faults in the bytes of a file. */
const inBytes = [
  "cut",
  "range-ignored",
  "wrong-content-range",
  "wrong-total",
  "shorter-range",
  "longer-range",
  "empty-body",
  "corrupt",
  "status-416",
  "trickle",
  "login-page",
  "gzip",
] as const;

export const faultNames = [...anywhere, ...atAddress, ...inBytes] as const;
export type FaultName = (typeof faultNames)[number];

/** `api`: JSON; `address`: where a file is; `bytes`: a file's content. */
export type RequestKind = "api" | "address" | "bytes";

export interface Fault {
  name: FaultName;
  /** Uniform in [0, 1): where in the body, how many bytes. */
  at: number;
}

export type FaultPlan = (kind: RequestKind, path: string) => Fault | undefined;

export interface RandomFaultOptions {
  seed: number | string;
  /** Share of requests that meet a fault. */
  rate: number;
  /** After so many faults all goes well. */
  limit: number;
  names?: readonly FaultName[];
  kinds?: readonly RequestKind[];
}

export function faultsFor(kind: RequestKind): readonly FaultName[] {
  // Nobody but the clock ends a silent answer to a question, and its patience is a matter of the hub's client.
  if (kind === "api") return anywhere.filter((name) => name !== "hang");
  return kind === "address" ? [...anywhere, ...atAddress] : [...anywhere, ...inBytes];
}

export function randomFaults(options: RandomFaultOptions): FaultPlan {
  const random = new Random(options.seed);
  let left = options.limit;
  return (kind) => {
    if (left === 0 || options.kinds?.includes(kind) === false || random.next() >= options.rate) return undefined;
    const names = faultsFor(kind).filter((name) => options.names?.includes(name) !== false);
    if (names.length === 0) return undefined;
    left -= 1;
    return { name: random.pick(names), at: random.next() };
  };
}

/** The given faults one after the other, each at the first request that can meet it after `skip` such requests. */
export function faultList(names: readonly FaultName[], { at = 0.5, skip = 0 } = {}): FaultPlan {
  const left = [...names];
  let passes = skip;
  return (kind) => {
    const name = left[0];
    if (name === undefined || !faultsFor(kind).includes(name)) return undefined;
    // A fault that fits everywhere is kept for the bytes, where it matters most.
    if (kind !== "bytes" && faultsFor("bytes").includes(name)) return undefined;
    if (passes > 0) {
      passes -= 1;
      return undefined;
    }
    left.shift();
    return { name, at };
  };
}
