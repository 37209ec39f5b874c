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
  "refresh-kills": 2,
};
/** Kinds of memory.ts. So few say nothing about memory: this tests that the campaign runs. */
const MEMORY: Readonly<Record<string, number>> = {
  searches: 50,
  answers: 10,
  steps: 20,
  loads: 10,
};

for (const [name, count] of Object.entries(COUNTS))
  test(`${name}: ${count}`, async () => {
    assert.match(await outputOf(name, count), /failures 0\n$/);
  });

for (const [kind, count] of Object.entries(MEMORY))
  test(`memory: ${count} ${kind}`, async () => {
    const output = await outputOf("memory", count, "--kind", kind);
    assert.match(output, /first \d+ MB, mean .* \d+ MB, last \d+ MB, slope -?\d+ bytes for each\n/);
    assert.ok(output.includes(`${kind} ${count}, failures`));
  });

async function outputOf(name: string, count: number, ...options: string[]): Promise<string> {
  const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", script, "--count", `${count}`, ...options],
    { maxBuffer: 2 ** 24 },
  ).catch((error) => error);
  console.log(stdout.trimEnd());
  return stdout;
}

test.run();
