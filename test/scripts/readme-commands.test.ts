/** scripts/readme-commands.ts on small READMEs. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { moduleArguments } from "../support/node-program.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-readme-"));
test.after(() => rmSync(folder, { recursive: true }));

function runCommands(readme: string): { status: number | null; lines: string[] } {
  const path = join(folder, "README.md");
  writeFileSync(path, readme);
  const argv = [...moduleArguments("scripts/readme-commands.ts"), path];
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

const output = (text: string): string =>
  `It prints:\n\n<!-- output -->\n\`\`\`text\n${text}\n\`\`\`\n\n`;

/** The failure of a README whose one command prints `printed`. */
function failure(printed: string, expected: string): string | undefined {
  const { lines } = runCommands(block(`printf '%s' '${printed}'`) + output(expected));
  return lines.find((line) => line.startsWith("FAIL"));
}

test("compares what a command prints with the output block below it", () => {
  assert.is(failure("one\ntwo\n", "one\ntwo"), undefined);
  assert.is(failure("one  \ntwo\n\n", "one\ntwo"), undefined);
  assert.match(failure("one\nthree", "one\ntwo")!, 'shows "two", the command prints "three"');
  assert.match(failure("one", "one\ntwo")!, 'shows "two", the command prints no more lines');
  assert.match(failure("one\ntwo", "one")!, 'shows no more lines, the command prints "two"');
  assert.match(failure("a.c", "abc")!, "FAIL");
  assert.match(failure("abc", "a.c")!, "FAIL");
});

test("compares stdout alone", () => {
  const readme = block("echo progress >&2\necho result") + output("result");
  assert.is(runCommands(readme).lines.at(-1), "1 passed, 0 failed");
});

test("... stands for any lines, … for the rest of a line", () => {
  assert.is(failure("a\nb\nc\nd", "a\n...\nd"), undefined);
  assert.is(failure("a\nd", "a\n...\nd"), undefined);
  assert.is(failure("a\nd\nb\nd", "...\nd"), undefined);
  assert.is(failure("a\nb", "a\n..."), undefined);
  assert.match(failure("a\nb\nc", "a\n...\nd")!, 'shows "d", the command prints "b"');
  assert.is(failure("a long line\nb", "a long …\nb"), undefined);
  assert.match(failure("a long line", "a short …")!, "FAIL");
});

test("~ before a number stands for any number within 10 %", () => {
  const line = "confidence ~76 %, score ~-20.6, ~2,067 passages";
  assert.is(failure("confidence 70 %, score -20.9, 2067 passages", line), undefined);
  assert.match(failure("confidence 60 %, score -20.9, 2067 passages", line)!, "FAIL");
  assert.match(failure("confidence 70 %, score 20.9, 2067 passages", line)!, "FAIL");
  assert.match(failure("confidence high %, score -20.9, 2067 passages", line)!, "FAIL");
});

test("fails with marks that belong to nothing", () => {
  for (const readme of [
    output("a") + block("echo a"),
    block("echo a") + output("a") + output("a"),
    `${block("echo a")}<!-- output -->\n\nText.\n`,
    block("echo a") + output("a").replace("```text", "```"),
    block("echo a").replace("```sh", "```bash"),
  ])
    assert.is(runCommands(readme).lines.at(-1), "0 passed, 1 failed");
});

test.run();
