/** The window's end of the contract, over channels that come and go. */

import { expect, test, vi } from "vitest";
import type { Channel } from "../../core/contract/rpc.ts";
import { CancelledError, HoneError } from "../../core/contract/errors.ts";
import { ApiClient } from "../../renderer/api/api.ts";

class FakeChannel implements Channel {
  readonly sent: Record<string, unknown>[] = [];
  receive: (message: unknown) => void = () => undefined;
  close: (why: Error) => void = () => undefined;

  send(message: unknown): void {
    this.sent.push(message as Record<string, unknown>);
  }

  listen(onMessage: (message: unknown) => void, onClose: (why: Error) => void): void {
    this.receive = onMessage;
    this.close = onClose;
  }
}

function newApi(): ApiClient {
  return new ApiClient("browser", { pathOf: () => Promise.resolve(""), openExternal: () => Promise.resolve() });
}

test("a call made while the connection is away waits for the next one", async () => {
  const api = newApi();
  const answer = api.call("jobs.list", {});
  const channel = new FakeChannel();
  api.connect(channel);
  await vi.waitFor(() => expect(channel.sent).toHaveLength(1));
  channel.receive({ kind: "result", id: channel.sent[0]?.["id"], value: [] });
  expect(await answer).toEqual([]);
});

test("a call under way fails with the connection; what was subscribed is asked for again on the next", async () => {
  const api = newApi();
  const first = new FakeChannel();
  api.connect(first);
  const heard: unknown[] = [];
  const end = api.subscribe("jobs", (jobs) => heard.push(jobs));
  const answer = api.call("jobs.list", {});
  await vi.waitFor(() => expect(first.sent).toHaveLength(2));
  first.close(new HoneError("connection-lost", "lost"));
  await expect(answer).rejects.toMatchObject({ code: "connection-lost" });
  api.disconnect();
  const second = new FakeChannel();
  api.connect(second);
  expect(second.sent).toMatchObject([{ kind: "subscribe", topic: "jobs" }]);
  second.receive({ kind: "news", id: second.sent[0]?.["id"], news: ["again"] });
  expect(heard).toEqual([["again"]]);
  end();
  expect(second.sent.at(-1)).toMatchObject({ kind: "unsubscribe" });
});

test("an aborted call is cancelled at the other end, and one that never left is not sent", async () => {
  const api = newApi();
  const early = new AbortController();
  const never = api.call("jobs.list", {}, { signal: early.signal });
  early.abort();
  const channel = new FakeChannel();
  api.connect(channel);
  await expect(never).rejects.toBeInstanceOf(CancelledError);
  expect(channel.sent).toEqual([]);
  const late = new AbortController();
  const cut = api.call("jobs.list", {}, { signal: late.signal });
  await vi.waitFor(() => expect(channel.sent).toHaveLength(1));
  late.abort();
  const id = channel.sent[0]?.["id"];
  expect(channel.sent.at(-1)).toEqual({ kind: "cancel", id });
  channel.receive({ kind: "error", id, error: { kind: "cancelled", code: "cancelled", message: "Cancelled" } });
  await expect(cut).rejects.toBeInstanceOf(CancelledError);
});
