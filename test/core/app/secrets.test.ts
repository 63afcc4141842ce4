import { existsSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createApp } from "../../../core/app/service/app.ts";
import { fileSecrets, secretsFile, type SecretsLock } from "../../../core/app/service/secrets.ts";

beforeEach(() => {
  process.env["HONE_HOME"] = mkdtempSync(join(tmpdir(), "hone-secrets-"));
});

const reversed = (text: string) => [...text].reverse().join("");
const lock: SecretsLock = { place: "keychain", lock: reversed, unlock: reversed };

test.skipIf(process.platform === "win32")("the file may be read by nobody else, and goes with its last token", () => {
  const secrets = fileSecrets();
  secrets.write("huggingface", "hf_1");
  expect(statSync(secretsFile()).mode & 0o777).toBe(0o600);
  expect(secrets.read("huggingface")).toBe("hf_1");
  expect(secrets.read("modelscope")).toBeNull();
  secrets.write("huggingface", null);
  expect(existsSync(secretsFile())).toBe(false);
});

test("what the keychain has locked is not in the file, and a browser does not take it for a token", () => {
  fileSecrets(lock).write("huggingface", "hf_secret");
  expect(readFileSync(secretsFile(), "utf8")).not.toContain("hf_secret");
  expect(fileSecrets(lock).read("huggingface")).toBe("hf_secret");
  expect(fileSecrets().read("huggingface")).toBeNull();
});

test("a window may set a token and ask whether there is one, and gets none to read", async () => {
  const app = createApp("browser");
  const { signal } = new AbortController();
  const listed = await app.call("tokens.set", { name: "huggingface", value: " hf_mine " }, signal);
  expect(listed).toMatchObject({ place: "file", tokens: [{ name: "huggingface", set: true }, { set: false }] });
  expect(JSON.stringify(listed)).not.toContain("hf_mine");
  expect(fileSecrets().read("huggingface")).toBe("hf_mine");
  const internal = async () => app.call("internal.secret", "huggingface", signal);
  await expect(internal()).rejects.toMatchObject({ code: "unknown-call" });
  await app.close();
});
