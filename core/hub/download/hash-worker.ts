/** The thread that hashes large files. See `Checksums`. */

import { parentPort } from "node:worker_threads";
import { errorMessage } from "../../contract/errors.ts";
import { FollowingHash, type HashMessage, type HashOrder, type HashReply } from "./checksum.ts";

const hashes = new Map<number, { hash: FollowingHash; order: HashOrder }>();

parentPort?.on("message", (message: HashMessage) => {
  const reply = answer(message);
  if (reply !== undefined) parentPort?.postMessage(reply);
});

function answer(message: HashMessage): HashReply | undefined {
  const { id } = message;
  if ("order" in message) {
    hashes.set(id, { hash: new FollowingHash(message.order), order: message.order });
    return undefined;
  }
  const entry = hashes.get(id);
  if (entry === undefined) return undefined;
  if ("forget" in message) {
    hashes.delete(id);
    return undefined;
  }
  try {
    entry.hash.advance(message.end);
    if (message.end < entry.order.size) return undefined;
    hashes.delete(id);
    return { id, digest: entry.hash.digest() };
  } catch (error) {
    hashes.delete(id);
    return { id, error: `cannot check ${entry.order.path}: ${errorMessage(error)}` };
  }
}
