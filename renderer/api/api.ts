/** The window's end of the contract, over whichever way there is. */

import type {
  Api,
  CallInput,
  CallName,
  CallResult,
  TopicName,
  Topics,
  WindowShell,
} from "../../core/contract/api/api.ts";
import { HoneError } from "../../core/contract/errors.ts";
import { Rpc, unknownCall, type Channel } from "../../core/contract/rpc.ts";
import { desktopShell } from "./desktop-shell.ts";
import { connectSocket, type Connection } from "./socket-channel.ts";
import "./window-api.ts";

interface Subscription {
  topic: TopicName;
  key: string | undefined;
  listener: (news: unknown) => void;
  end: () => void;
}

/** Calls and subscriptions outlive a lost connection: calls wait for the next one, subscriptions are made again. */
export class ApiClient implements Api {
  readonly host: Api["host"];
  readonly shell: WindowShell;
  #rpc = Promise.withResolvers<Rpc>();
  #current: Rpc | undefined;
  readonly #subscriptions = new Set<Subscription>();

  constructor(host: Api["host"], shell: WindowShell) {
    this.host = host;
    this.shell = shell;
  }

  connect(channel: Channel): void {
    const rpc = new Rpc(channel, { call: (name) => Promise.reject(unknownCall(name)) });
    this.#current = rpc;
    this.#rpc.resolve(rpc);
    for (const subscription of this.#subscriptions) this.#begin(subscription, rpc);
  }

  /** The connection is gone: later calls wait for the next one. */
  disconnect(): void {
    if (this.#current === undefined) return;
    this.#current = undefined;
    this.#rpc = Promise.withResolvers();
  }

  async call<Name extends CallName>(
    name: Name,
    input: CallInput<Name>,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<CallResult<Name>> {
    return (await this.request(name, input, signal)) as CallResult<Name>;
  }

  /** A call of any name. A call that is cancelled while the connection is away never begins. */
  async request(name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    const rpc = await this.#rpc.promise;
    return rpc.call(name, input, signal);
  }

  subscribe<Name extends TopicName>(topic: Name, listener: (news: Topics[Name]) => void, key?: string): () => void {
    const subscription: Subscription = {
      topic,
      key,
      listener: listener as (news: unknown) => void,
      end: () => undefined,
    };
    this.#subscriptions.add(subscription);
    if (this.#current !== undefined) this.#begin(subscription, this.#current);
    return () => {
      this.#subscriptions.delete(subscription);
      subscription.end();
    };
  }

  #begin(subscription: Subscription, rpc: Rpc): void {
    const { topic, key, listener } = subscription;
    subscription.end = rpc.subscribe(topic, key, listener);
  }
}

/** Connects to the desktop's bridge, or to the server that this page came from. */
export function openApi(onState: (state: Connection) => void): Api {
  const bridge = window.hone;
  if (bridge !== undefined) {
    const api: ApiClient = new ApiClient(
      "electron",
      desktopShell(bridge, (name, input) => api.request(name, input)),
    );
    api.connect(bridge.channel);
    onState("open");
    return api;
  }
  const api = new ApiClient("browser", browserShell);
  connectSocket(
    (channel) => {
      api.connect(channel);
    },
    (state) => {
      if (state === "lost" || state === "gone") api.disconnect();
      onState(state);
    },
  );
  return api;
}

const browserShell: WindowShell = {
  async pathOf(file) {
    const response = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
    if (!response.ok) {
      throw new HoneError("upload-failed", `${file.name} could not be handed to Hone: ${await response.text()}`);
    }
    return ((await response.json()) as { path: string }).path;
  },
  openExternal(url) {
    if (!/^https?:\/\//.test(url)) return Promise.reject(new HoneError("bad-address", `${url} is no web page`));
    window.open(url, "_blank", "noopener,noreferrer");
    return Promise.resolve();
  },
};
