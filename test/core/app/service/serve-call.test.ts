import { expect, test } from "vitest";
import { serveCall } from "../../../../core/app/service/serve-call.ts";
import type { CallContext } from "../../../../core/app/service/handlers.ts";

const context = {} as CallContext;

test("input is checked, and the field is named; a call that nobody serves is refused", async () => {
  const handlers = { "runs.read": ({ run }: { run: string }) => run };
  await expect(serveCall(handlers, "runs.read", { run: "a" }, context)).resolves.toBe("a");
  await expect(serveCall(handlers, "runs.read", { run: 3 }, context)).rejects.toMatchObject({
    code: "bad-input",
    message: expect.stringContaining("run"),
  });
  for (const name of ["runs.list", "toString", "internal.startJob"]) {
    await expect(serveCall(handlers, name, {}, context)).rejects.toMatchObject({ code: "unknown-call" });
  }
});

test("what the file system refuses is a user's error with the path, wherever it is met", async () => {
  const full = Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write", path: "/a/file" });
  const handlers = { "runs.list": () => Promise.reject(full) };
  await expect(serveCall(handlers, "runs.list", {}, context)).rejects.toMatchObject({
    code: "file-error",
    message: expect.stringContaining("/a/file"),
  });
});
