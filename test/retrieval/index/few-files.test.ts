/** Too many open files are an InputError, and never end the process. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, programBeside } from "../../support/node-program.ts";
import { temporary } from "../support.ts";

const SCRIPT = programBeside("few-files", import.meta.url);
const LIMIT = 150;

test("reports in one line that too many files are open, and works afterwards", async () => {
  if (process.platform === "win32") return; // without ulimit
  await using directory = await temporary();
  const command = `ulimit -n ${LIMIT} && exec "$0" "$@"`;
  const { stdout } = await promisify(execFile)("sh", [
    "-c",
    command,
    process.execPath,
    ...LOADER,
    SCRIPT,
    directory.path,
  ]);
  const errors: string[] = JSON.parse(stdout);
  assert.ok(errors.length > 20, `${errors.length} errors`);
  for (const error of errors)
    assert.match(error, /^\w+, \d+: InputError: [^\n]*got EMFILE \(too many open files\); raise/);
});

test.run();
