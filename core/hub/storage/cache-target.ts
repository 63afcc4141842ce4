/** Where the files of one snapshot go: what a download writes to, whatever the layout behind it. */

import type { RepoFile } from "../../contract/hub.ts";

/** Two files of a download in progress; both are named after the content, so the source may change in the middle. */
export interface IncompletePaths {
  /** Bytes so far. On the same disk as the finished file. */
  data: string;
  /** The downloader's own note of which ranges are there: without one, nothing is. Gone when the file is kept. */
  state: string;
}

/**
 * One snapshot in the making. Nothing of it is visible before `publish`: `open` → for each file that is not `here`:
 * write `incomplete(file).data`, check it, `keep(file)` → `publish` → `close`. After a kill at any point the same calls
 * go on where it stopped.
 */
export interface CacheTarget {
  /** Folder of the finished snapshot. Where it is there already, files are added to it. */
  readonly path: string;
  /** Disk to ask for free space. */
  readonly folder: string;
  /**
   * Makes the folders, takes the repository for this process, and notes what is to come. Throws `download-busy`,
   * `not-writable`, `name-clash` (two names that this file system holds for one), `disk-full`.
   */
  open(): void;
  /** True when the file's content is here, of this or of another revision, by name and size: nothing to download. */
  here(file: RepoFile): boolean;
  incomplete(file: RepoFile): IncompletePaths;
  /** `incomplete(file).data` is whole and checked: it gets its final name. */
  keep(file: RepoFile): void;
  /** Path of a content that is here, for whoever wants to check it; undefined when it is not. */
  contentPath(file: RepoFile): string | undefined;
  /** Forgets a content that turned out to be damaged, so that it is downloaded again. */
  discard(file: RepoFile): void;
  /** All files are here: makes the snapshot visible, then its branch or tag, then the record that it is whole. */
  publish(): void;
  /** Gives the repository back. What is incomplete stays, to go on from; where nothing came, nothing stays. */
  close(): void;
}
