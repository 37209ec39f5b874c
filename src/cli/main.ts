#!/usr/bin/env node
/** The program `reatt`: runs a command, and handles signals and a closed stdout. */

import { COMMANDS } from "./commands.ts";
import { report, run } from "./run.ts";
import { EXIT } from "./shared/exit.ts";

const abort = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(name, () => {
    if (abort.signal.aborted) process.exit(EXIT.interrupted);
    abort.abort();
  });
}
process.on("uncaughtException", (error) => process.exit(report(error, abort.signal)));
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader such as `head` closes stdout when it has enough.
  process.exit(error.code === "EPIPE" ? EXIT.done : report(error, abort.signal));
});
// A log or a progress bar without a reader, or on a full disk, ends no work.
process.stderr.on("error", () => {});

process.exitCode = await run(COMMANDS, process.argv.slice(2), abort.signal);
