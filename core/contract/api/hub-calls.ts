/** Calls about models and datasets on hubs: what there is, what it needs on this machine, and downloads. */

import { z } from "zod";
import type { ErrorData } from "../errors.ts";
import {
  hubSources,
  repoKinds,
  repoRefSchema,
  searchQuerySchema,
  type CatalogEntry,
  type DatasetSplit,
  type Download,
  type FitReport,
  type GetPlan,
  type Quant,
  type RepoCard,
  type RepoRef,
  type RepoSnapshot,
  type SearchResult,
} from "../hub.ts";
import { call } from "./call.ts";

export interface CatalogListing {
  models: {
    /** Name of the catalogue that it stands in. */
    catalog: string;
    entry: CatalogEntry;
    fit: FitReport;
    /** What `--model` takes, when it is on this machine and whole. */
    here: string | null;
  }[];
  /** Catalogues that could not be read. */
  problems: { path: string; problem: string }[];
}

export interface FoundRepos extends SearchResult {
  /** The repository that the text names by itself: a link or `owner/name`. It was not asked for yet. */
  named: RepoRef | null;
}

/** A repository as it is before it is downloaded. */
export interface RepoDetails {
  snapshot: Omit<RepoSnapshot, "files">;
  /** What would be fetched, and what not. */
  plan: GetPlan;
  /** Null for a dataset, and where the headers of the weights cannot be read: `fit_problem` says why. */
  fit: FitReport | null;
  fit_problem: ErrorData | null;
  /** Of a GGUF repository, also where none of them can be read. */
  quants: Quant[];
  /** Parts of a dataset. */
  splits: DatasetSplit[];
  /** What the person should know, such as that another hub has answered. */
  note: string | null;
  /** What `--model` takes, when all of it is on this machine. */
  here: string | null;
}

const id = z.object({ id: z.string() });
const repo = z.object({
  /** `owner/name`, with `@revision` or `:quantisation`, or a link. */
  reference: z.string().trim().min(1).max(1000),
  kind: z.enum(repoKinds).default("model"),
  /** Of a name without a hub. */
  source: z.enum(hubSources).default("huggingface"),
});

export const hubCalls = {
  /** The curated list, with what each model needs on this machine. Asks nobody. */
  "hub.catalog": call<CatalogListing>()(z.object({})),
  "hub.search": call<FoundRepos>()(z.object({ source: z.enum(hubSources), query: searchQuerySchema })),
  "hub.look": call<RepoDetails>()(repo.extend({ quant: z.string().nullable().default(null) })),
  /** The card, safe to show; null where there is none. */
  "hub.card": call<RepoCard | null>()(repo),
  "hub.downloads": call<Download[]>()(z.object({})),
  /** Begins a download, or goes on with one of the same. Of a dataset: one split, or all of it. */
  "hub.download": call<Download>()(
    z.object({
      ref: repoRefSchema,
      quant: z.string().nullable().default(null),
      config: z.string().nullable().default(null),
      split: z.string().nullable().default(null),
    }),
  ),
  /** Stops it and keeps what is there. */
  "hub.pause": call<null>()(id),
  /** Goes on with a paused, failed or cancelled download. */
  "hub.resume": call<null>()(id),
  /** Stops it and deletes the beginnings of files that it made. */
  "hub.cancel": call<null>()(id),
  /** Takes an ended download off the list; nothing on disk changes. */
  "hub.dismiss": call<null>()(id),
  /** Applies what the settings say of downloads: limits, address of a mirror, tokens. */
  "hub.settings_changed": call<null>()(z.object({})),
};
