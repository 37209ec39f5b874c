/**
 * Uses the built package on several versions of Node, on Bun and on Deno:
 * `tsx scripts/check-node-versions.ts [RUNTIME...]`, such as `node@22` or `bun@1`.
 *
 * They come from npm. `node-versions/` has what is used: all of it on Node, the calls of a program
 * on the others. The last line is `N passed, N failed`.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeSmallRun } from "../test/support/training.ts";

const RUNTIMES = ["node@22", "node@24", "node@26", "bun@1", "deno@2"];
/** What runs a script, by the name of the package. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  node: ["node", "--expose-gc", scriptOf("drop-everything.js")],
  bun: ["bun", scriptOf("use.js")],
  deno: ["deno", "run", "--allow-all", scriptOf("use.js")],
};

let failed = 0;
const runtimes = process.argv.length > 2 ? process.argv.slice(2) : RUNTIMES;
for (const runtime of runtimes) {
  const folder = mkdtempSync(join(tmpdir(), "reatt-node-"));
  writeFileSync(join(folder, "run.json"), JSON.stringify(await writeSmallRun(folder)));
  // Their install scripts fetch, or choose, the binary.
  const npx = ["--yes", "--ignore-scripts=false", "--loglevel=error", `--package=${runtime}`];
  const command = COMMANDS[runtime.split("@")[0]!]!;
  const { status, signal, stdout, stderr } = spawnSync("npx", [...npx, "--", ...command, folder], {
    encoding: "utf8",
  });
  rmSync(folder, { recursive: true });
  if (status === 0) console.log(`ok    ${runtime}`);
  else {
    failed++;
    console.log(`FAIL  ${runtime}: ${signal ?? `exit code ${status}`}\n${stdout}${stderr}`);
  }
}
console.log(`\n${runtimes.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function scriptOf(name: string): string {
  return join(import.meta.dirname, "node-versions", name);
}
