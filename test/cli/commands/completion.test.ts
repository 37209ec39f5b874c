/** Completion: the scripts in real shells. Those that are not installed are skipped. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { runCaptured } from "../support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-completion-"));
mkdirSync(join(folder, "docs and notes"));
writeFileSync(join(folder, "docs.jsonl"), "");
test.after(() => rmSync(folder, { recursive: true }));

const scriptFor = async (shell: string): Promise<string> => {
  const { code, stdout, stderr } = await runCaptured(["completion", shell]);
  assert.equal([code, stderr], [0, ""]);
  return stdout;
};
const hasShell = (name: string) => spawnSync(name, ["-c", "exit 0"]).status === 0;
const commands = COMMANDS.map(({ name }) => name);

const FIRST = [...commands.filter((name) => !name.includes(" ")), "help"].sort();
const INDEX = commands.filter((name) => name.startsWith("index ")).map((name) => name.slice(6));
/** Words of a command line, the last of which is completed. */
const CASES: readonly (readonly [words: readonly string[], candidates: readonly string[]])[] = [
  [[""], FIRST],
  [["ret"], ["retrieve"]],
  [["help", "answ"], ["answer"]],
  [["index", ""], INDEX.toSorted()],
  [["index", "ver"], ["verify"]],
  [["index", "add", "--c"], ["--corpus"]],
  [["answer", "--pre"], ["--preset"]],
  [
    ["answer", "--preset", ""],
    ["balanced", "exact", "fast"],
  ],
  [["answer", "--preset", "e"], ["exact"]],
  [
    ["index", "--bits", ""],
    ["1", "2", "32", "4", "8"],
  ],
  [["retrieve", "--top-k", ""], []],
  [
    ["retrieve", "--queries", "doc"],
    ["docs and notes", "docs.jsonl"],
  ],
  [["retrieve", "--index", "doc"], ["docs and notes"]],
  [["evaluate", "retrieval", "--q"], ["--qrels"]],
  [
    ["completion", ""],
    ["bash", "fish", "zsh"],
  ],
];

test("bash completes commands, options, values and files", async () => {
  const script = join(folder, "reatt.bash");
  writeFileSync(script, await scriptFor("bash"));
  for (const [words, candidates] of CASES) {
    const program = `source ${script}; COMP_WORDS=(reatt "$@"); COMP_CWORD=$#; _reatt 2>&1
      [ "\${#COMPREPLY[@]}" = 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`;
    const run = execFileSync("bash", ["--norc", "-c", program, "bash", ...words], { cwd: folder });
    const found = run.toString().split("\n").filter(Boolean).sort();
    assert.equal(found, candidates, words.join(" "));
  }
});

test("bash offers the options of a command that has nothing else", async () => {
  const script = join(folder, "reatt.bash");
  const program = `source ${script}; COMP_WORDS=(reatt answer ""); COMP_CWORD=2; _reatt
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const found = execFileSync("bash", ["--norc", "-c", program]).toString().split("\n");
  for (const flag of ["--model", "--index", "--question", "--help"])
    assert.ok(found.includes(flag));
});

(hasShell("fish") ? test : test.skip)("fish completes the same", async () => {
  const script = join(folder, "reatt.fish");
  writeFileSync(script, await scriptFor("fish"));
  const quoted = (words: readonly string[]) => ["reatt", ...words].join(" ");
  for (const [words, candidates] of CASES) {
    const program = `source ${script}; complete -C "${quoted(words)}"`;
    const run = execFileSync("fish", ["--no-config", "-c", program], { cwd: folder }).toString();
    const found = run.split("\n").filter(Boolean);
    const names = found.map((line) => line.split("\t")[0]!.replace(/\/$/, "").replace(/\\ /g, " "));
    assert.equal(names.sort(), candidates, words.join(" "));
  }
});

(hasShell("zsh") ? test : test.skip)("zsh can read its script", async () => {
  const script = join(folder, "_reatt");
  writeFileSync(script, await scriptFor("zsh"));
  execFileSync("zsh", ["-n", script]);
});

test("another shell is wrong usage", async () => {
  for (const shells of [[], ["tcsh"]]) {
    const { code, stderr } = await runCaptured(["completion", ...shells]);
    assert.is(code, 2);
    assert.match(stderr, /^reatt: expected bash, zsh, fish, got ".*"/);
  }
});

test.run();
