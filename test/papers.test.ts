/** docs/PAPERS.md names files that exist: sources, tests and pages of experiments. */

import { existsSync, readFileSync } from "node:fs";
import { test } from "uvu";
import * as assert from "uvu/assert";

const rows = readFileSync("docs/PAPERS.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (section|source) \|/.test(line))
  .map((line) => line.split(" | "));
const named = (cell: string): string[] =>
  [...cell.matchAll(/`([\w/.-]+(?:\.ts|\.md|\/))`/g)].map(([, name]) => name!);
const pathOf = (name: string): string => {
  if (name.startsWith("benchmarks/")) return name;
  if (name.endsWith(".md")) return `docs/experiments/${name}`;
  return name.endsWith(".test.ts") ? `test/${name}` : `src/${name}`;
};

test("each row names a file, and a test or a figure", () => {
  assert.ok(rows.length > 40);
  for (const [, method, files, tests] of rows) {
    assert.ok(named(files!).length > 0, method);
    assert.ok(named(tests!).length > 0, method);
    for (const name of [...named(files!), ...named(tests!)])
      assert.ok(existsSync(pathOf(name)), name);
  }
});

test.run();
