/**
 * Models and datasets on hubs and on this machine: what is asked, what is answered, what is kept. All fields stand in
 * snake_case: they are also what `--json` prints.
 */

import { z } from "zod";

const count = z.number().int().min(0);
const word = z.string().min(1);

export const hubSources = ["huggingface", "modelscope"] as const;
export type HubSourceName = (typeof hubSources)[number];
export const hubSourceLabels: Record<HubSourceName, string> = { huggingface: "Hugging Face", modelscope: "ModelScope" };

export const repoKinds = ["model", "dataset"] as const;
export type RepoKind = (typeof repoKinds)[number];

/** `owner/name` as both hubs write it; Hugging Face also has old names without an owner. */
export const repoIdPattern = /^(?:[A-Za-z0-9][\w.-]{0,95}\/)?[A-Za-z0-9_][\w.-]{0,95}$/;

/** A branch, tag or commit of a repository. */
export const repoRefSchema = z.object({
  source: z.enum(hubSources),
  kind: z.enum(repoKinds),
  id: z.string().regex(repoIdPattern, "not a repository's name (`owner/name`)"),
  /** Branch, tag or commit. May hold `/` (`refs/convert/parquet`). */
  revision: z.string().regex(/^(?!\/)(?!.*(?:\.\.|\/\/|[\s\\?*:~^]))[^/].{0,199}$/, "not a revision's name"),
});
export type RepoRef = z.infer<typeof repoRefSchema>;

/** Windows and macOS compare names without case, and a name that ends in a dot or a blank loses it on Windows. */
const unsafePart = /^(?:\.{0,2}|.*[. ])$/;

/** True for a relative path with `/` that cannot leave the folder it is joined to, on any system. */
export function isSafeRepoPath(path: string): boolean {
  if (path.length > 1000 || /[\\\p{Cc}]/u.test(path) || /^[A-Za-z]:/.test(path)) return false;
  return path.split("/").every((part) => part.length <= 255 && !unsafePart.test(part));
}

export const repoFileSchema = z.object({
  path: z.string().refine(isSafeRepoPath, "a file name that would leave its folder"),
  size: count,
  /** Of the content, in hex: the LFS object id on Hugging Face, `Sha256` on ModelScope. Null for small files of Hugging Face. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** Git blob id where there is no LFS object: SHA-1 of `blob <size>\0<content>`, in hex. */
  etag: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .nullable(),
});
export type RepoFile = z.infer<typeof repoFileSchema>;

/** `auto`: granted as soon as the licence is accepted on the page; `manual`: the authors decide. */
export const gatedSchema = z.union([z.literal(false), z.literal("auto"), z.literal("manual")]);
export type Gated = z.infer<typeof gatedSchema>;

/** A repository at one commit. */
export const repoSnapshotSchema = z.object({
  ref: repoRefSchema,
  /** Git commit, 40 hex digits. */
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  files: z.array(repoFileSchema),
  gated: gatedSchema,
  private: z.boolean(),
  /** SPDX-like id (`apache-2.0`, `llama3.2`), null where the card names none. */
  licence: z.string().nullable(),
  /** The repository's page, where a licence is read and accepted. */
  page: z.url(),
  last_modified: z.string().nullable(),
  downloads: count.nullable(),
  likes: count.nullable(),
  /** From the hub's own reading of the weights or the config; null where it has none. */
  architecture: z.string().nullable(),
  parameters: count.nullable(),
  base_model: z.string().nullable(),
  tags: z.array(z.string()),
});
export type RepoSnapshot = z.infer<typeof repoSnapshotSchema>;

export const searchSorts = ["downloads", "likes", "updated", "trending"] as const;

export const searchQuerySchema = z.object({
  kind: z.enum(repoKinds).default("model"),
  /** Words of the name; empty lists what is popular. */
  text: z.string().default(""),
  author: z.string().optional(),
  /** Only architectures that the engine opens. */
  supported: z.boolean().default(false),
  /** One `model_type`, such as `qwen3`. */
  architecture: z.string().optional(),
  format: z.enum(["safetensors", "gguf"]).optional(),
  min_parameters: count.optional(),
  max_parameters: count.optional(),
  sort: z.enum(searchSorts).default("downloads"),
  limit: z.number().int().min(1).max(100).default(20),
});
export type SearchQuery = z.output<typeof searchQuerySchema>;
export type SearchQueryInput = z.input<typeof searchQuerySchema>;

export const searchHitSchema = z.object({
  ref: repoRefSchema,
  page: z.url(),
  author: z.string().nullable(),
  downloads: count.nullable(),
  likes: count.nullable(),
  last_modified: z.string().nullable(),
  gated: gatedSchema,
  licence: z.string().nullable(),
  architecture: z.string().nullable(),
  /** Null: the hub does not say. */
  parameters: count.nullable(),
  formats: z.array(z.enum(["safetensors", "gguf", "pickle"])),
  /** Whether the engine opens the architecture; null while it is unknown. */
  supported: z.boolean().nullable(),
});
export type SearchHit = z.infer<typeof searchHitSchema>;

/** `hone search`. */
export const searchResultSchema = z.object({
  query: searchQuerySchema,
  source: z.enum(hubSources),
  hits: z.array(searchHitSchema),
  /** The hub has more than were asked for, or more were looked through than matched. */
  more: z.boolean(),
  notes: z.array(z.string()),
});
export type SearchResult = z.infer<typeof searchResultSchema>;

/** A model or dataset card, ready to be shown: Markdown without raw HTML, without images that load, links to http(s) only. */
export const repoCardSchema = z.object({
  markdown: z.string(),
  /** The front matter's values as text. */
  facts: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  /** Addresses of images that were left out. */
  images: z.array(z.string()),
  /** The card was longer than is shown. */
  cut: z.boolean(),
});
export type RepoCard = z.infer<typeof repoCardSchema>;

/** One quantisation of a GGUF repository: one file, or the parts of a split one. */
export const quantSchema = z.object({
  /** `Q4_K_M`, `F16`, … as in the file's name. */
  name: z.string(),
  files: z.array(z.string()).min(1),
  bytes: count,
  bits_per_weight: z.number().nullable(),
  /** In words, for people who do not know the names. */
  quality: z.string(),
  /** Whether the engine reads this format. */
  supported: z.boolean(),
  verdict: z.enum(["fits", "tight", "does_not_fit"]),
  recommended: z.boolean(),
});
export type Quant = z.infer<typeof quantSchema>;

/** Which files of a snapshot are needed, and why the others are not. */
export const fileChoiceSchema = z.object({
  files: z.array(repoFileSchema),
  bytes: count,
  format: z.enum(["safetensors", "gguf", "parquet", "rows"]).nullable(),
  /** `gguf`: what was chosen, and from what. */
  quant: z.string().nullable(),
  quants: z.array(quantSchema),
  left_out: z.array(z.object({ path: z.string(), size: count, reason: z.string() })),
});
export type FileChoice = z.infer<typeof fileChoiceSchema>;

/** Files of a dataset's parts. */
export const datasetSplitSchema = z.object({
  config: z.string(),
  split: z.string(),
  files: z.array(z.string()).min(1),
  bytes: count,
});
export type DatasetSplit = z.infer<typeof datasetSplitSchema>;

export const fitVerdicts = ["fits", "tight", "does_not_fit", "not_supported"] as const;
export type FitVerdict = (typeof fitVerdicts)[number];

export const fitUses = ["chat", "lora", "full"] as const;
export type FitUseName = (typeof fitUses)[number];

export const fitUseSchema = z.object({
  verdict: z.enum(fitVerdicts),
  /** Bytes at the highest point, by use. `total` also counts Hone itself. */
  memory_bytes: z.object({
    weights: count,
    gradients: count,
    optimizer: count,
    activations: count,
    kv_cache: count,
    program: count,
    total: count,
  }),
  /** What was reckoned with: tokens of one micro-batch, or of one conversation. */
  tokens: count,
  words: z.string(),
});
export type FitUse = z.infer<typeof fitUseSchema>;

/** `hone fit`. */
export const fitReportSchema = z.object({
  name: z.string(),
  /** Null for a model on this machine. */
  ref: repoRefSchema.nullable(),
  commit: z.string().nullable(),
  architecture: z.string().nullable(),
  /** Null when it is; otherwise why the engine does not open it. */
  unsupported: z.string().nullable(),
  parameters: count,
  /** How most weights are stored. */
  dtype: z.string(),
  weight_bytes: count,
  layers: count.nullable(),
  context_length: count.nullable(),
  kv_bytes_per_token: count.nullable(),
  licence: z.string().nullable(),
  gated: gatedSchema,
  quant: z.string().nullable(),
  quants: z.array(quantSchema),
  download: z.object({
    /** Bytes still to be fetched; 0 for a model that is here. */
    bytes: count,
    files: count,
    /** Where they would go, and what is free there. */
    folder: z.string(),
    free_bytes: count,
    verdict: z.enum(["fits", "tight", "does_not_fit"]),
  }),
  machine: z.object({ memory_bytes: count, free_bytes: count, cores: count }),
  /** Null where the architecture is unknown and nothing can be said. */
  uses: z.object({ chat: fitUseSchema, lora: fitUseSchema, full: fitUseSchema }).nullable(),
  /** Answer tokens per second of one conversation, from a measurement on this machine; null where there is none. */
  speed: z.object({ tokens_per_second: z.number(), from: z.string() }).nullable(),
  /** The report in sentences. */
  words: z.array(z.string()),
});
export type FitReport = z.infer<typeof fitReportSchema>;

/** What the app can do with a model of the catalog today. */
export const worksTodaySchema = z.object({ chat: z.boolean(), lora: z.boolean(), full: z.boolean() });

export const catalogEntrySchema = z.object({
  /** `owner/name` on Hugging Face. */
  id: z.string().regex(repoIdPattern),
  name: word,
  /** One sentence: what it is good for. */
  about: word,
  architecture: word,
  parameters: z.number().int().min(1),
  /** Bytes of the weights that are downloaded. */
  weight_bytes: z.number().int().min(1),
  dtype: word,
  /** Fields of the model's `config.json` that memory depends on. */
  config: z.record(z.string(), z.unknown()),
  context_length: z.number().int().min(1),
  licence: word,
  licence_page: z.url(),
  gated: gatedSchema.default(false),
  languages: z.array(word).default([]),
  /** Hone's name of the tool-call format; null: the template has none. */
  tool_format: z.string().nullable(),
  thinks: z.boolean().default(false),
  /** The same model on ModelScope. */
  modelscope: z.string().regex(repoIdPattern).nullable().default(null),
  /** Repositories with GGUF files of it. */
  gguf: z.array(z.string().regex(repoIdPattern)).default([]),
  works: worksTodaySchema.default({ chat: true, lora: true, full: true }),
  /** What does not work today, in words; null when all does. */
  limits: z.string().nullable().default(null),
  /** Fields whose values could not be checked against the model's own files. */
  unverified: z.array(z.string()).default([]),
});
export type CatalogEntry = z.infer<typeof catalogEntrySchema>;

/** `assets/catalog.json`, and a team's own in `HONE_HOME/catalogs/*.json`. */
export const catalogSchema = z.object({ version: z.literal(1), name: word, models: z.array(catalogEntrySchema) });
export type Catalog = z.infer<typeof catalogSchema>;

export const downloadStates = ["queued", "downloading", "checking", "paused", "done", "failed", "cancelled"] as const;
export type DownloadState = (typeof downloadStates)[number];

export const fileProgressSchema = z.object({
  path: z.string(),
  size: count,
  done: count,
  state: z.enum(["waiting", "downloading", "checking", "done"]),
});
export type FileProgress = z.infer<typeof fileProgressSchema>;

/** A download as lists show it and as the queue keeps it. */
export const downloadSchema = z.object({
  id: word,
  ref: repoRefSchema,
  /** Fixed once the hub has answered; null before. */
  commit: z.string().nullable(),
  quant: z.string().nullable(),
  state: z.enum(downloadStates),
  /** Where the bytes come from now: may change to the other source of the same model. */
  source: z.enum(hubSources),
  created: z.iso.datetime(),
  finished: z.iso.datetime().nullable(),
  bytes: count,
  bytes_done: count,
  /** Over the last seconds; 0 while nothing moves. */
  bytes_per_second: z.number(),
  seconds_left: z.number().nullable(),
  files: z.array(fileProgressSchema),
  /** Attempts that failed and were made again. */
  retries: count,
  /** What it is doing or waiting for, in words, where that is not plain from the state. */
  note: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string(), fix: z.string().nullable() }).nullable(),
  /** Folder of the finished snapshot. */
  path: z.string().nullable(),
});
export type Download = z.infer<typeof downloadSchema>;

/** `hone get`. */
export const getOutputSchema = z.object({
  ref: repoRefSchema,
  commit: z.string(),
  path: z.string(),
  /** What `--model` or a dataset option takes. */
  reference: z.string(),
  bytes: count,
  /** Bytes that came over the network; the rest was here. */
  fetched_bytes: count,
  seconds: z.number(),
  files: z.array(z.object({ path: z.string(), size: count, checked: z.enum(["sha256", "git", "size"]) })),
});
export type GetOutput = z.infer<typeof getOutputSchema>;

/** `hone get --dry-run`: what would be downloaded. */
export const getPlanSchema = z.object({
  ref: repoRefSchema,
  commit: z.string(),
  /** Where the snapshot would be. */
  path: z.string(),
  format: fileChoiceSchema.shape.format,
  quant: z.string().nullable(),
  files: z.array(z.object({ path: z.string(), size: count, here: z.boolean() })),
  bytes: count,
  /** Not here yet. */
  bytes_to_fetch: count,
  free_bytes: count,
  verdict: z.enum(["fits", "tight", "does_not_fit"]),
  left_out: fileChoiceSchema.shape.left_out,
});
export type GetPlan = z.infer<typeof getPlanSchema>;

export const modelPlaces = ["starter", "huggingface", "modelscope", "lm-studio", "ollama", "folder"] as const;
export type ModelPlace = (typeof modelPlaces)[number];

export const localModelSchema = z.object({
  /** What `--model` takes. */
  reference: z.string(),
  name: z.string(),
  place: z.enum(modelPlaces),
  path: z.string(),
  /** Where it came from; null where that is not known. */
  ref: repoRefSchema.nullable(),
  kind: z.enum(repoKinds),
  commit: z.string().nullable(),
  format: z.enum(["safetensors", "gguf", "pickle", "adapter", "other"]),
  architecture: z.string().nullable(),
  parameters: count.nullable(),
  quant: z.string().nullable(),
  /** On disk; what revisions share is counted once, with the newest. */
  bytes: count,
  /** False while files are missing: such a model is never offered for use. */
  complete: z.boolean(),
  missing: z.array(z.string()),
  /** Null when the engine opens it; otherwise why not. */
  unsupported: z.string().nullable(),
  modified: z.string().nullable(),
  /** When its files were last read; some systems note that roughly or not at all. */
  last_used: z.string().nullable(),
  /** Hone deletes only where it also writes. */
  removable: z.boolean(),
});
export type LocalModel = z.infer<typeof localModelSchema>;

/** `hone ls models`. */
export const storageListingSchema = z.object({
  places: z.array(
    z.object({
      place: z.enum(modelPlaces),
      path: z.string(),
      bytes: count,
      free_bytes: count,
      read_only: z.boolean(),
      /** Left by downloads that did not end. */
      incomplete_bytes: count,
    }),
  ),
  models: z.array(localModelSchema),
});
export type StorageListing = z.infer<typeof storageListingSchema>;

/** `hone rm`: what would go, or went. */
export const removalSchema = z.object({
  reference: z.string(),
  removed: z.boolean(),
  bytes: count,
  paths: z.array(z.string()),
  /** Blobs that another revision still needs. */
  kept_paths: z.array(z.string()),
});
export type Removal = z.infer<typeof removalSchema>;

/** A file that a download which did not end has left. */
export interface Leftover {
  path: string;
  /** `owner/name` of the repository. */
  id: string;
  bytes: number;
  modified: string;
  /** What it is, in words. */
  what: string;
}

/** What moving the models folder would do. */
export interface MovePlan {
  from: string;
  to: string;
  files: number;
  bytes: number;
  /** Bytes that have to be written: nothing where both folders are on one disk. */
  bytes_to_copy: number;
  free_bytes: number;
}

/** What moving the models folder came to. */
export interface MoveResult {
  from: string;
  to: string;
  files: number;
  bytes: number;
  /** Files that stay in the old folder, because they are not in the new one: another program wrote them meanwhile. */
  left: string[];
}
