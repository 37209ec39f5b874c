/**
 * Runs the commands of a README as they are written: `tsx scripts/readme-commands.ts README.md`.
 *
 * A command is a fenced `sh` block right below the line `<!-- ci -->`. Each block runs in a shell of its own, in the
 * current folder, and stops at its first failure. The last line is `N passed, N failed`.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const MARKED_BLOCK = /^<!-- ci -->\n```sh\n(.*?)^```$/gms;

const readme = process.argv[2] ?? "README.md";
const blocks = [...readFileSync(readme, "utf8").matchAll(MARKED_BLOCK)].map(
  ([, commands]) => commands!,
);
let passed = 0;
for (const commands of blocks) {
  console.log(`\n${commands.trimEnd().replace(/^/gm, "$ ")}`);
  const { status } = spawnSync("bash", ["-euo", "pipefail", "-c", commands], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) passed++;
  else console.log(`FAIL  exit code ${status}`);
}
if (blocks.length === 0) console.log(`FAIL  ${readme} marks no commands with <!-- ci -->`);
const failed = Math.max(blocks.length, 1) - passed;
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
