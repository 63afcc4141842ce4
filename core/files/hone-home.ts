import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where Hone keeps what belongs to the user: `~/.hone`, or the folder that HONE_HOME names. */
export function honeHome(): string {
  const home = process.env["HONE_HOME"];
  return home === undefined || home === "" ? join(homedir(), ".hone") : resolve(home);
}
