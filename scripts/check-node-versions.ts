/**
 * Uses the built package on several versions of Node:
 * `tsx scripts/check-node-versions.ts [VERSION...]`.
 *
 * `node` comes from npm. `node-versions/drop-everything.js` says what is used. The last line is
 * `N passed, N failed`.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeSmallRun } from "../test/support/training.ts";

const VERSIONS = ["22", "24", "26"];
const SCRIPT = join(import.meta.dirname, "node-versions/drop-everything.js");

let failed = 0;
const versions = process.argv.length > 2 ? process.argv.slice(2) : VERSIONS;
for (const version of versions) {
  const folder = mkdtempSync(join(tmpdir(), "reatt-node-"));
  writeFileSync(join(folder, "run.json"), JSON.stringify(await writeSmallRun(folder)));
  const node = ["--yes", "--ignore-scripts=false", `node@${version}`, "--expose-gc"];
  const { status, signal, stdout, stderr } = spawnSync("npx", [...node, SCRIPT, folder], {
    encoding: "utf8",
  });
  rmSync(folder, { recursive: true });
  if (status === 0) console.log(`ok    Node ${version}`);
  else {
    failed++;
    console.log(`FAIL  Node ${version}: ${signal ?? `exit code ${status}`}\n${stdout}${stderr}`);
  }
}
console.log(`\n${versions.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
