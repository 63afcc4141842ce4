/** Opens a hub with the address and the token that the settings or the environment give. */

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { assertNever, HoneError } from "../../contract/errors.ts";
import type { HubSourceName } from "../../contract/hub.ts";
import { Credentials } from "../http.ts";
import { huggingFace } from "./huggingface.ts";
import { modelScope } from "./modelscope.ts";
import { hubAddresses } from "./parse-reference.ts";
import type { HubSource } from "./source.ts";

export interface HubOptions {
  /** Address of the hub or of a mirror. Default: HF_ENDPOINT or MODELSCOPE_ENDPOINT, else the hub itself. */
  endpoint?: string | undefined;
  /** Default: HF_TOKEN, or the file that `hf auth login` writes; MODELSCOPE_API_TOKEN. An empty text is none. */
  token?: string | undefined;
}

/** Throws `bad-address` and `bad-token`. */
export function openSource(name: HubSourceName, options: HubOptions = {}): HubSource {
  const endpoint = readEndpoint(name, options.endpoint);
  const token = options.token ?? environmentToken(name, endpoint);
  switch (name) {
    case "huggingface":
      return huggingFace(endpoint, token === "" ? undefined : Credentials.bearer(endpoint, token));
    case "modelscope":
      return modelScope(endpoint, token === "" ? undefined : modelScopeCredentials(endpoint, token));
    default:
      return assertNever(name, "hub");
  }
}

function readEndpoint(name: HubSourceName, given: string | undefined): string {
  const variable = name === "huggingface" ? "HF_ENDPOINT" : "MODELSCOPE_ENDPOINT";
  const text = nonEmpty(given) ?? nonEmpty(process.env[variable]) ?? hubAddresses[name];
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new HoneError("bad-address", `the endpoint ${JSON.stringify(text)} is no address`, {
    fix: `${variable} and the setting hold addresses such as ${hubAddresses[name]}`,
  });
}

/** As `modelscope` sends it: its older addresses want the cookie, the newer ones the header. */
function modelScopeCredentials(endpoint: string, token: string): Credentials {
  const checked = Credentials.bearer(endpoint, token);
  return new Credentials(endpoint, {
    ...checked.headersFor(new URL(endpoint)),
    cookie: `m_session_id=${encodeURIComponent(token)}`,
  });
}

/**
 * The token that was saved for huggingface.co goes to huggingface.co only: a mirror that somebody else runs gets one
 * only when HF_TOKEN or the settings give it.
 */
function environmentToken(name: HubSourceName, endpoint: string): string {
  const { env } = process;
  if (name === "modelscope") return nonEmpty(env["MODELSCOPE_API_TOKEN"])?.trim() ?? "";
  const given = nonEmpty(env["HF_TOKEN"]) ?? nonEmpty(env["HUGGING_FACE_HUB_TOKEN"]);
  if (given !== undefined) return given.trim();
  if (endpoint !== hubAddresses.huggingface) return "";
  const home =
    nonEmpty(env["HF_HOME"]) ?? join(nonEmpty(env["XDG_CACHE_HOME"]) ?? join(homedir(), ".cache"), "huggingface");
  const path = nonEmpty(env["HF_TOKEN_PATH"]) ?? join(home, "token");
  return existsSync(path) ? readFileSync(path, "utf8").trim() : "";
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text.trim();
}
