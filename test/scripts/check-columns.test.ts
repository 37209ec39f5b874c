/** scripts/check-columns.ts on small files with lines of a known width. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { moduleArguments } from "../support/node-program.ts";

/** Words of nine letters and a space: `columns` in all. */
const words = (columns: number): string => "wordsword ".repeat(columns / 10).slice(0, columns);

function check(files: Record<string, string>): { status: number | null; lines: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "reatt-columns-"));
  try {
    const paths = Object.entries(files).map(([name, text]) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    });
    const argv = [...moduleArguments("scripts/check-columns.ts"), ...paths];
    const { status, stdout } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    return { status, lines: stdout.trimEnd().replaceAll(`${folder}/`, "").split("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("names long prose lines", () => {
  const { status, lines } = check({ "a.md": `${words(110)}x\n${words(120)}x\n`, "b.md": "short" });
  assert.equal(lines, ["FAIL  a.md:2 has 121 columns, at most 120", "1 passed, 1 failed"]);
  assert.is(status, 1);
});

test("passes over tables, code, HTML comments and lines that cannot be broken", () => {
  const link = `[${"x".repeat(130)}](https://example.org)`;
  const text = [
    `| ${words(200)} |`,
    "```sh",
    words(200),
    "```",
    `<!-- ${words(200)} -->`,
    `- ${link}`,
    link,
  ].join("\n");
  assert.equal(check({ "a.md": text }).lines, ["1 passed, 0 failed"]);
});

test("prose after a code block counts again", () => {
  assert.is(check({ "a.md": `\`\`\`\ncode\n\`\`\`\n${words(130)}\n` }).status, 1);
});

test("names long comments of TypeScript and shell, and leaves their code alone", () => {
  const { lines } = check({
    "a.ts": `/** ${words(90)}x */\n/**\n * ${words(100)}\n */\nconst text = "${words(120)}";\n`,
    "b.ts": `const x = 1; // ${words(100)}\n`,
    "bin/run": `#!/usr/bin/env bash\n# ${words(100)}\necho "${words(120)}"\n`,
    "bin/data": `# ${words(200)}\n`,
  });
  assert.equal(lines, [
    "FAIL  a.ts:3 has 103 columns, at most 100",
    "FAIL  b.ts:1 has 116 columns, at most 100",
    "FAIL  bin/run:2 has 102 columns, at most 100",
    "0 passed, 3 failed",
  ]);
});

test("counts code points, not bytes", () => {
  assert.is(check({ "a.md": "éééééééé ".repeat(13) }).status, 0); // 117 columns, 221 bytes
});

test.run();
