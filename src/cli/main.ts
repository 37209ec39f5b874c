#!/usr/bin/env node
/** The program `reatt`: its commands, and what the process does with signals and with a reader that leaves. */

import { adaptCommand } from "./adapt.ts";
import { answerCommand } from "./answer.ts";
import { benchmarkCommand } from "./benchmark.ts";
import { indexCommand } from "./build-index.ts";
import { evaluateCommand } from "./evaluate.ts";
import { addCommand, compactCommand, deleteCommand } from "./index-change.ts";
import { exportCommand } from "./index-export.ts";
import { infoCommand, verifyCommand } from "./index-inspect.ts";
import { mergeCommand } from "./index-merge.ts";
import { retrieveCommand } from "./retrieve.ts";
import { EXIT, report, run } from "./run.ts";
import { trainCommand } from "./train.ts";

const COMMANDS = [
  indexCommand,
  addCommand,
  deleteCommand,
  compactCommand,
  mergeCommand,
  exportCommand,
  infoCommand,
  verifyCommand,
  retrieveCommand,
  answerCommand,
  trainCommand,
  adaptCommand,
  evaluateCommand,
  benchmarkCommand,
];

const abort = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) {
  process.on(name, () => {
    if (abort.signal.aborted) process.exit(EXIT.interrupted);
    abort.abort();
  });
}
process.on("uncaughtException", (error) => process.exit(report(error, abort.signal)));
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Who reads the results, `head` say, has enough.
  process.exit(error.code === "EPIPE" ? EXIT.done : report(error, abort.signal));
});

process.exitCode = await run(COMMANDS, process.argv.slice(2), abort.signal);
