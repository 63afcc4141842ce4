/** What a hub can do for Hone, whichever it is. */

import type {
  HubSourceName,
  RepoCard,
  RepoFile,
  RepoRef,
  RepoSnapshot,
  SearchQuery,
  SearchResult,
} from "../../contract/hub.ts";
import type { Credentials } from "../http.ts";

/** Where a file's bytes are: give both to `request`. The address may redirect to a signed one on another host. */
export interface FileLocation {
  url: string;
  credentials: Credentials | undefined;
}

export interface Cancellable {
  signal?: AbortSignal | undefined;
}

export interface HubSource {
  readonly name: HubSourceName;
  /** Without a slash at its end. */
  readonly endpoint: string;
  /**
   * The repository at a commit, with all its files. Throws `no-such-repo`, `no-such-revision`, `gated`, `not-signed-in`,
   * `rate-limited`, `server-error`, `hostile-file-name`, `bad-answer`, or what `request` throws.
   */
  snapshot(ref: RepoRef, options?: Cancellable): Promise<RepoSnapshot>;
  search(query: SearchQuery, options?: Cancellable): Promise<SearchResult>;
  /** The README, safe to show. Null where there is none. */
  card(snapshot: RepoSnapshot, options?: Cancellable): Promise<RepoCard | null>;
  locate(snapshot: RepoSnapshot, file: Pick<RepoFile, "path">): FileLocation;
  /** Bytes [start, end) of a file; fewer when it ends before. */
  readRange(
    snapshot: RepoSnapshot,
    file: Pick<RepoFile, "path">,
    start: number,
    end: number,
    options?: Cancellable,
  ): Promise<Buffer>;
  /** A status that is no success, as the error that says what to do. Reads and ends the reply's body. */
  failure(reply: { status: number; headers: Record<string, string>; url: string }, ref: RepoRef, path?: string): Error;
}
