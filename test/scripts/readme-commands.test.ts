/** scripts/readme-commands.ts on small READMEs. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";

const folder = mkdtempSync(join(tmpdir(), "reatt-readme-"));
test.after(() => rmSync(folder, { recursive: true }));

function runCommands(readme: string): { status: number | null; lines: string[] } {
  const path = join(folder, "README.md");
  writeFileSync(path, readme);
  const argv = ["--import", "tsx", "scripts/readme-commands.ts", path];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  return { status, lines: stdout.trimEnd().split("\n") };
}

const block = (commands: string, mark = "<!-- ci -->\n"): string =>
  `Text.\n\n${mark}\`\`\`sh\n${commands}\n\`\`\`\n\n`;

test("runs the marked blocks, whole and only those", () => {
  const readme =
    block("echo 'one line'\necho \"$((1 + 1)) lines\"") + block("exit 1", "") + block("true");
  const { status, lines } = runCommands(readme);
  assert.is(status, 0);
  assert.is(lines.at(-1), "2 passed, 0 failed");
  assert.ok(lines.includes("one line") && lines.includes("2 lines"));
});

test("fails with a block that fails anywhere", () => {
  const { status, lines } = runCommands(
    block("true") + block("false\ntrue") + block("false | true"),
  );
  assert.is(status, 1);
  assert.is(lines.at(-1), "1 passed, 2 failed");
});

test("fails with a README that marks nothing", () => {
  const { status, lines } = runCommands(block("true", ""));
  assert.is(status, 1);
  assert.is(lines.at(-1), "0 passed, 1 failed");
});

test.run();
