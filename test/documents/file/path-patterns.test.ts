/** Patterns of paths, against `git check-ignore`. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { PathPatterns } from "../../../src/documents/file/path-patterns.ts";
import { createRandom } from "../../../src/math/random.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-patterns-"));
test.after(() => rmSync(folder, { recursive: true }));
const git = (args: readonly string[], input = ""): string =>
  spawnSync("git", ["-c", "core.ignoreCase=false", ...args], {
    cwd: folder,
    input,
    encoding: "utf8",
  }).stdout;
git(["init", "-q"]);

/** The paths that git ignores by a `.gitignore`. */
function ignoredByGit(patterns: string, paths: readonly string[]): string[] {
  writeFileSync(join(folder, ".gitignore"), patterns);
  const args = ["check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"];
  const fields = git(args, paths.map((path) => `${path}\0`).join("")).split("\0");
  return paths.filter((_, i) => {
    const pattern = fields[4 * i + 2]!;
    return pattern !== "" && !pattern.startsWith("!");
  });
}

const NAMES = ["a", "b", "ab", "A", "a.md", "b.MD", "x-1", "[a]", "!a", "#a", "a b", "a\\b", "]"];
const PIECES = [
  ...["a", "b", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[^a-c]", "[]a]", "[a-", "[[:alpha:]]"],
  ...[
    "[[:nothing:]]",
    "[\\]]",
    "\\a",
    "\\*",
    "\\",
    ".md",
    "A",
    "!",
    "#",
    " ",
    "-",
    "[",
    "]",
    "***",
  ],
];

test("random patterns decide as those of git", () => {
  const random = createRandom(1, "patterns");
  const draw = <Value>(values: readonly Value[]): Value => values[random.integer(values.length)]!;
  const paths = [
    ...new Set(
      Array.from({ length: 250 }, () =>
        Array.from({ length: 1 + random.integer(4) }, () => draw(NAMES)).join("/"),
      ),
    ),
  ];
  for (let round = 0; round < 120; round++) {
    const lines = Array.from({ length: 1 + random.integer(3) }, () => {
      const negation = random.integer(4) === 0 ? "!" : "";
      return `${negation}${Array.from({ length: 1 + random.integer(6) }, () => draw(PIECES)).join("")}`;
    });
    const text = lines.join(draw(["\n", "\r\n"]));
    const patterns = new PathPatterns(text);
    const found = paths.filter((path) => patterns.match(path));
    assert.equal(found, ignoredByGit(text, paths), JSON.stringify(text));
  }
});

test("no pattern takes longer than its length times that of the path", () => {
  const path = `${"a/".repeat(50)}${"a".repeat(2_000)}`;
  for (const line of [
    "a*".repeat(32),
    "**/a*".repeat(40),
    `${"*a".repeat(900)}b`,
    "[a-b]*".repeat(90),
  ])
    assert.is(new PathPatterns([`${line}c`]).match(path), false);
});

test("patterns that are given: folders hold what is below, and case counts", () => {
  const patterns = new PathPatterns(["guide", "*.md", "!old.md", "/top/*.txt"]);
  const paths = ["guide/a.txt", "a.md", "x/a.md", "old.md", "A.MD", "Guide/a", "top/a.txt"];
  assert.equal(
    [...paths, "top/x/a.txt"].filter((path) => patterns.match(path)),
    ["guide/a.txt", "a.md", "x/a.md", "top/a.txt"],
  );
});

test.run();
