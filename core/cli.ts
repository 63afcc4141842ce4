/** The `hone` command. */

import { main } from "./cli/program.ts";
import { exitCodes, isBrokenPipe } from "./cli/terminal.ts";

// `hone ls | head`: the reader has gone, and that is no failure.
process.stdout.on("error", (error) => {
  if (!isBrokenPipe(error)) throw error;
  process.exit(exitCodes.ok);
});

process.exitCode = await main(process.argv.slice(2));
