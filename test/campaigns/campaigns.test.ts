/** The campaigns at a small size. docs/RELIABILITY.md has the commands for their full size. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";

const COUNTS: Readonly<Record<string, number>> = {
  "power-cuts": 300,
  "bit-flips": 200,
  "writer-kills": 12,
  "training-kills": 4,
};

for (const [name, count] of Object.entries(COUNTS))
  test(`${name}: ${count}`, async () => {
    const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", script, "--count", `${count}`],
      { maxBuffer: 2 ** 24 },
    ).catch((error) => error);
    console.log(stdout.trimEnd());
    assert.match(stdout, /failures 0\n$/);
  });

test.run();
