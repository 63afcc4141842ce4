/** One content of a download: what is still to fetch, from where, and how often it failed. */

import type { RepoFile, RepoSnapshot } from "../../contract/hub.ts";
import type { FileLocation, HubSource } from "../sources/source.ts";
import type { IncompletePaths } from "../storage/cache-target.ts";
import type { Checksum, CheckKind } from "./checksum.ts";
import type { PartialFile } from "./partial-file.ts";
import type { Interval } from "./range-set.ts";

/** A place that has the contents of a snapshot: a hub, a mirror of it, or the other hub. */
export interface Supply {
  source: HubSource;
  snapshot: RepoSnapshot;
}

export interface Route {
  supply: Supply;
  file: RepoFile;
}

export class FileTask {
  readonly file: RepoFile;
  /** All names of this content in the snapshot. */
  readonly names: string[];
  readonly paths: IncompletePaths;
  readonly kind: CheckKind;
  state: "waiting" | "downloading" | "checking" | "done" = "waiting";
  /** Not being fetched now. */
  pending: Interval[];
  /** Ranges that are being fetched. */
  active = 0;
  /** Bytes that were there when the download began. */
  readonly bytesBefore: number;
  bytes: number;
  partial: PartialFile | undefined;
  opening: Promise<PartialFile> | undefined;
  checksum: Checksum | undefined;
  /** The server sends all of the file or nothing. */
  whole = false;
  /** Rounds that failed since bytes came last. */
  failures = 0;
  /** Answers that no honest server gives, since a range came whole. */
  badAnswers = 0;
  mismatches = 0;
  ignoredRanges = 0;
  lastProgress = performance.now();
  /** Nothing is asked before this time, in milliseconds of `performance.now`. */
  notBefore = 0;
  #routes: Route[];
  /** Signed address of each route's file, until it is refused. */
  readonly #direct = new Map<Route, string>();

  constructor(
    file: RepoFile,
    options: { paths: IncompletePaths; kind: CheckKind; supply: Supply; pending: Interval[]; bytes: number },
  ) {
    this.file = file;
    this.names = [file.path];
    this.paths = options.paths;
    this.kind = options.kind;
    this.#routes = [{ supply: options.supply, file }];
    this.pending = options.pending;
    this.bytes = options.bytes;
    this.bytesBefore = options.bytes;
  }

  get route(): Route {
    return this.#routes[0];
  }

  /** Where to ask now. A signed address that worked saves the way over the hub. */
  location(): { location: FileLocation; isDirect: boolean } {
    const { supply, file } = this.route;
    const direct = this.#direct.get(this.route);
    if (direct !== undefined) return { location: { url: direct, credentials: undefined }, isDirect: true };
    return { location: supply.source.locate(supply.snapshot, file), isDirect: false };
  }

  /** Keeps where an answer came from, when that is another host than the hub. */
  remember(route: Route, url: string): void {
    if (new URL(url).origin !== new URL(route.supply.source.endpoint).origin) this.#direct.set(route, url);
  }

  forgetDirect(route: Route): void {
    this.#direct.delete(route);
  }

  addSupply(supply: Supply): void {
    const route = routeTo(this.file, supply);
    if (route !== undefined) this.#routes.push(route);
  }

  /** The next source, where there is more than one. */
  rotate(): void {
    const [first, ...others] = this.#routes;
    this.#routes = [...others, first];
  }

  /** Gives a source up. False when it was the last one. */
  dropRoute(route: Route): boolean {
    const others = this.#routes.filter((other) => other !== route);
    if (others.length === 0) return false;
    this.#routes = others;
    return true;
  }
}

/** The same content at another place, by its name. Undefined: it has none. */
function routeTo(file: RepoFile, supply: Supply): Route | undefined {
  const other = supply.snapshot.files.find(({ path }) => path === file.path);
  return other !== undefined && isSameContent(file, other) ? { supply, file: other } : undefined;
}

/** As far as both hubs tell: what they do not tell is found out by the check of the finished file. */
function isSameContent(a: RepoFile, b: RepoFile): boolean {
  const differ = (x: string | null, y: string | null) => x !== null && y !== null && x !== y;
  return a.size === b.size && !differ(a.sha256, b.sha256) && !differ(a.etag, b.etag);
}

/** Cuts gaps into pieces of at most `bytes`. */
export function cut(gaps: readonly Interval[], bytes: number): Interval[] {
  return gaps.flatMap(([start, end]) => {
    const pieces: Interval[] = [];
    for (let at = start; at < end; at += bytes) pieces.push([at, Math.min(end, at + bytes)]);
    return pieces;
  });
}
