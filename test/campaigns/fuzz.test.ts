/** The fuzz campaign at a small size. `fuzz.ts` describes it. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";

test("fuzzed files are read or end in an InputError of one line", async () => {
  const script = join(import.meta.dirname, "fuzz.ts");
  const command = ["--import", "tsx", script, "--count", "1500"];
  const { stdout } = await promisify(execFile)(process.execPath, command).catch((error) => error);
  assert.match(stdout, /^inputs 1500, most memory \d+ MB, failures 0$/m, stdout);
});

test.run();
