/** From what a person calls a model or dataset to what is on this machine. */

import { relative } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { nearest } from "../../contract/nearest.ts";
import { plural } from "../../contract/units.ts";
import type { RepoKind } from "../../contract/hub.ts";
import { parseReference } from "../sources/parse-reference.ts";
import { itemsOf, referenceOf, repoItems, storedItems, type StoredItem } from "./inventory.ts";
import { modelPlaces } from "./places.ts";
import { RepoFolder } from "./repo-folder.ts";

interface Wanted {
  source: "huggingface" | "modelscope" | undefined;
  kind: RepoKind;
  id: string;
  revision: string | undefined;
  quant: string | undefined;
  /** A .gguf file of the repository. */
  file: string | undefined;
}

/** What a reference asks for; undefined for what names no repository (`starter`, a folder, a run). */
function readWanted(reference: string, kind: RepoKind): Wanted | undefined {
  const [, name, file] = /^((?:[a-z]+:)?(?:datasets\/)?[^/]+\/[^/]+)\/(.+\.gguf)$/i.exec(reference) ?? [];
  try {
    const { ref, quant, file: linked } = parseReference(name ?? reference, { kind });
    const says = (prefix: RegExp) => prefix.test(reference);
    const isLink = says(/^https?:/);
    return {
      source: isLink || says(/^(?:hf|huggingface|ms|modelscope):/) ? ref.source : undefined,
      kind: ref.kind,
      id: ref.id.toLowerCase(),
      revision: reference.includes("@") || says(/\/(?:tree|blob|resolve|commit)\//) ? ref.revision : undefined,
      quant: quant?.toUpperCase(),
      file: file ?? linked ?? undefined,
    };
  } catch {
    return undefined;
  }
}

/**
 * Everything that a reference means, in the order of the places: without a revision and a quantisation, all of the
 * repository. Empty when nothing of it is here.
 */
export function findStored(reference: string, kind: RepoKind = "model"): StoredItem[] {
  if (reference.startsWith("ollama:")) {
    const called = reference.includes(":", "ollama:".length) ? reference : `${reference}:latest`;
    const places = modelPlaces().filter(({ place }) => place === "ollama");
    return places.flatMap(itemsOf).filter((item) => item.reference === called);
  }
  const wanted = readWanted(reference, kind);
  if (wanted === undefined) return [];
  const places = modelPlaces();
  const inCaches = places.flatMap((place) => {
    if (place.place !== "huggingface" && place.place !== "modelscope") return [];
    if (wanted.source !== undefined && wanted.source !== place.place) return [];
    const repos = RepoFolder.list(place.path, place.place).filter(
      (repo) => repo.id.toLowerCase() === wanted.id && repo.kind === wanted.kind,
    );
    const found = repos.flatMap((repo) => repoItems(repo, place));
    const older = found.length === 0 && place.place === "modelscope" ? itemsOf(place) : [];
    const ofRepo = older.filter(({ ref }) => ref?.id.toLowerCase() === wanted.id && ref.kind === wanted.kind);
    return [...found, ...ofRepo].filter((item) => isWanted(item, wanted));
  });
  if (inCaches.length > 0 || wanted.source !== undefined || wanted.revision !== undefined) return inCaches;
  // LM Studio and folders of one's own keep models as `owner/name` too.
  return places
    .filter(({ place }) => place === "lm-studio" || place === "folder")
    .flatMap(itemsOf)
    .filter((item) => relative(item.place.path, item.folder).replaceAll("\\", "/").toLowerCase() === wanted.id)
    .filter((item) => isWanted(item, wanted));
}

function isWanted(item: StoredItem, { revision, quant, file }: Wanted): boolean {
  if (revision !== undefined) {
    const isBeginning = /^[0-9a-f]{7,40}$/.test(revision) && item.commit?.startsWith(revision) === true;
    const isNamed =
      item.repo !== null && item.repo.source === "huggingface" && item.repo.commitOf(revision) === item.commit;
    if (item.ref?.revision !== revision && !isBeginning && !isNamed) return false;
  }
  if (quant !== undefined && item.quant !== quant) return false;
  return file === undefined || item.files.some(({ path }) => path === file) || item.missing.includes(file);
}

/** Of several revisions the one that the name alone means: that of the usual branch, else the one that is there alone. */
function usual(items: readonly StoredItem[], reference: string): StoredItem[] {
  if (items.length < 2 || reference.includes("@")) return [...items];
  const [first] = items;
  const samePlace = items.filter(({ place, unfinished }) => place === first.place && !unfinished);
  const candidates = samePlace.length > 0 ? samePlace : items;
  const ofBranch = candidates.filter(({ ref }) => ref !== null && !referenceOf(ref).includes("@"));
  return ofBranch.length > 0 ? ofBranch : [...candidates];
}

/**
 * The one thing that a reference opens; undefined when nothing of it is here. Throws `incomplete-model`, `which-file`
 * when there are several quantisations, `which-revision`.
 */
export function requireOne(reference: string, kind: RepoKind = "model"): StoredItem | undefined {
  const found = usual(findStored(reference, kind), reference);
  if (found.length === 0) return undefined;
  const all = found.filter((item) => !item.unfinished && item.missing.length === 0);
  // The same in two places, as in the middle of a move: the first place counts.
  const whole = [...new Map(all.toReversed().map((item) => [item.reference, item])).values()];
  if (whole.length === 0) throw incomplete(found[0]);
  if (whole.length === 1) return whole[0];
  const quants = new Set(whole.map(({ path }) => path));
  const isChoice = new Set(whole.map(({ folder }) => folder)).size === 1 && quants.size > 1;
  const names = whole.map((item) => item.reference).join(", ");
  throw new HoneError(
    isChoice ? "which-file" : "which-revision",
    `${reference} is here in ${plural(whole.length, "version")}: ${names}`,
    { fix: "name the one you mean" },
  );
}

function incomplete(item: StoredItem): HoneError {
  const { missing, reference } = item;
  const some = missing.slice(0, 3).join(", ") + (missing.length > 3 ? ", …" : "");
  const what =
    missing.length === 0 ? "its download has not ended" : `${plural(missing.length, "file")} missing (${some})`;
  return new HoneError("incomplete-model", `${reference} is only partly here: ${what}`, { fix: getFix(reference) });
}

function getFix(reference: string): string {
  return `\`hone get ${reference}\` fetches what is missing`;
}

/** The folder or .gguf file of a repository on this machine; undefined when it is not here. Throws as `requireOne`. */
export function resolveLocal(reference: string, kind: RepoKind = "model"): string | undefined {
  return requireOne(reference, kind)?.path;
}

/** True for what may name a repository of a hub or a model of Ollama. */
export function isHubReference(reference: string): boolean {
  return reference.startsWith("ollama:") || readWanted(reference, "model") !== undefined;
}

/**
 * A reference that means the same tomorrow: with the commit that its branch stands for now. One that is not here, or
 * in a place that keeps no commits, stays as it is.
 */
export function pinnedReference(reference: string): string {
  const item = requireOne(reference);
  if (item?.place.place !== "huggingface" || item.ref === null || item.commit === null) return reference;
  const { id } = item.ref;
  const file = item.path === item.folder ? "" : item.path.slice(item.folder.length + 1).replaceAll("\\", "/");
  if (file === "") return `${id}@${item.commit.slice(0, 12)}`;
  return item.reference.includes(":") ? `${id}@${item.commit.slice(0, 12)}:${item.quant}` : reference;
}

/** As `findStored`; throws `no-such-model` with the nearest name that is here. */
export function requireStored(reference: string, kind: RepoKind = "model"): StoredItem[] {
  const found = findStored(reference, kind);
  if (found.length > 0) return found;
  const meant = nearest(
    reference,
    storedItems().map((item) => item.reference),
  );
  throw new HoneError("no-such-model", `there is no ${kind} ${JSON.stringify(reference)} on this machine`, {
    fix: `${meant === undefined ? "" : `did you mean ${meant}? `}\`hone ls ${kind}s\` lists what is here`,
  });
}
