/** `manifest.json`: every file of a folder with its size and SHA-256. Written last, so a folder that has one is whole. */

import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { writeFileAtomic } from "./atomic.ts";
import { manifestSchema, type Manifest } from "../contract/run.ts";

export const manifestName = "manifest.json";

/** SHA-256 of a file, in hex. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Paths of all files below a folder, relative to it, with `/`, sorted. */
export function listFiles(folder: string, prefix = ""): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) files.push(...listFiles(folder, path));
    else files.push(path);
  }
  return files.sort();
}

export async function writeManifest(folder: string): Promise<Manifest> {
  const files: Manifest["files"] = [];
  for (const path of listFiles(folder)) {
    if (path === manifestName) continue;
    files.push({ path, size: statSync(join(folder, path)).size, sha256: await sha256File(join(folder, path)) });
  }
  const manifest: Manifest = { version: 1, files };
  writeFileAtomic(join(folder, manifestName), JSON.stringify(manifest, null, 2) + "\n");
  return manifest;
}

/** One hash for a whole folder: that of its manifest's lines. */
export function manifestHash(manifest: Manifest): string {
  const lines = manifest.files.map((file) => `${file.sha256}  ${file.path}`);
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

/**
 * What is wrong with a folder, in words; an empty list means that every file is there as the manifest says. Sizes are
 * always compared, contents only with `hash`.
 */
export async function checkManifest(folder: string, options: { hash: boolean }): Promise<string[]> {
  const path = join(folder, manifestName);
  if (!existsSync(path)) return [`${manifestName} is missing`];
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return [`${manifestName} is not JSON`];
  }
  const parsed = manifestSchema.safeParse(json);
  if (!parsed.success) return [`${manifestName} does not have the expected form`];
  const problems: string[] = [];
  for (const file of parsed.data.files) {
    const target = join(folder, file.path);
    if (!existsSync(target)) problems.push(`${file.path} is missing`);
    else if (statSync(target).size !== file.size) problems.push(`${file.path} has the wrong size`);
    else if (options.hash && (await sha256File(target)) !== file.sha256) problems.push(`${file.path} was changed`);
  }
  return problems;
}
