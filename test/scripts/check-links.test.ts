/** scripts/check-links.ts on small pages. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, programFile } from "../support/node-program.ts";

/** Runs the checker in a folder that holds these files. */
function checkLinks(
  files: Record<string, string>,
  ...paths: string[]
): { status: number | null; lines: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "reatt-links-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const argv = [...LOADER, programFile("scripts/check-links.ts")];
    const { status, stdout } = spawnSync(process.execPath, [...argv, ...paths], {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, lines: stdout.trimEnd().split("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const broken = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith("FAIL")).map((line) => line.split(" links to ")[1]!);

test("follows the links of Markdown files to files, folders and headings", () => {
  const { status, lines } = checkLinks({
    "README.md": `# Title
[file](docs/A.md) [folder](docs) [itself](#two-words) ![image](docs/a.png "An image") [web](https://example.org/x#y)
[heading](docs/A.md#the-reader-and-its-code) [again](docs/A.md#twice-1) [defined][1] \`[no](link)\` [id](docs/A.md#own)

\`\`\`md
[no](link)
\`\`\`

## Two words

[1]: docs/A.md
`,
    "docs/A.md": `## The *reader*, and its \`code\`
# Twice
# Twice
<a id="own"></a> <a href="../README.md#title">up</a>
`,
    "docs/a.png": "",
    "node_modules/x/README.md": "[no](link)",
  });
  assert.equal(lines.at(-1), "2 passed, 0 failed", lines.join("\n"));
  assert.is(status, 0);
});

test("fails with links that lead nowhere", () => {
  const { status, lines } = checkLinks({
    "README.md": "[a](B.md) [b](A.md#one) [c](#two) [d](A.md)\n\n[e]: C.md\n",
    "A.md": "# Two\n[up](../README.md)",
  });
  assert.equal(broken(lines), ["../README.md", "B.md", "A.md#one", "#two", "C.md"]);
  assert.is(lines.at(-1), "0 passed, 2 failed");
  assert.is(status, 1);
});

test("follows the links of HTML files to files and ids", () => {
  const files = {
    "api/index.html": `<a href="a.html#x&amp;y">A</a> <a href="a.html#z">A</a> <img src="no.png"> <a href="../A.md#two">B</a>`,
    "api/a.html": `<h2 id="x&amp;y">X</h2> <script>" href="none"</script>`,
    "A.md": "# Two\n",
  };
  const { lines } = checkLinks(files, "api");
  assert.equal(broken(lines), ["a.html#z", "no.png"]);
  assert.is(lines.at(-1), "1 passed, 1 failed");
});

test("fails where there is nothing to check", () => {
  assert.is(checkLinks({ "a.txt": "" }).lines.at(-1), "0 passed, 1 failed");
});

test.run();
