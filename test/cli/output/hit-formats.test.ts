/** Hits as paths, as a table and as Markdown. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { pathsIn, toCsv, toFiles, toMarkdown } from "../../../src/cli/output/hit-formats.ts";

const HITS = [
  {
    id: "a.md#2",
    title: "Prices, 2024",
    text: 'It costs "9" euros.\nOr 8.',
    score: 0.5,
    document: "a.md",
    metadata: { _source: "a.md", _lines: "3-4" },
  },
  { id: "a.md#1", title: "", text: "# *x* <b>", score: 0.25, metadata: { _source: "a.md" } },
  { id: "\u001b[2Kz", title: "", text: "- one\n1. two\n\n| a |", score: 0 },
];

test("each document is one path, best first", () => {
  assert.is(
    toFiles(
      HITS,
      pathsIn(() => "/docs"),
    ),
    "/docs/a.md\n [2Kz\n",
  );
  assert.is(
    toFiles(
      HITS,
      pathsIn(() => undefined),
    ),
    "a.md\n [2Kz\n",
  );
  assert.is(
    toFiles(
      [],
      pathsIn(() => "/docs"),
    ),
    "",
  );
});

test("cells with commas, quotes and lines are quoted", () => {
  const [first] = toCsv(
    "How much?",
    HITS,
    pathsIn(() => undefined),
  ).split(/(?<=\.")\r\n/);
  const cells = 'How much?,1,0.5,a.md#2,"Prices, 2024",a.md,lines 3 to 4,,';
  assert.is(first, `${cells}"It costs ""9"" euros.\nOr 8."`);
});

test("text cannot become markup", () => {
  const markdown = toMarkdown(
    "What *is* it?",
    HITS,
    pathsIn(() => undefined),
  );
  assert.is(
    markdown,
    [
      "## What \\*is\\* it?\n",
      "1. **Prices, 2024** (a.md, lines 3 to 4, 0.50)\n",
      '   > It costs "9" euros.\n   > Or 8.\n',
      "2. **a.md\\#1** (a.md, 0.25)\n",
      "   > \\# \\*x\\* \\<b\\>\n",
      "3. ** \\[2Kz** ( \\[2Kz, 0.00)\n",
      "   > \\- one\n   > 1\\. two\n   >\n   > \\| a \\|\n",
      "",
    ].join("\n"),
  );
  assert.is(
    toMarkdown(
      "?",
      [],
      pathsIn(() => undefined),
    ),
    "## ?\n\nNo passage.\n\n",
  );
});

test("a link stays an address, whatever it has", () => {
  const hit = { id: "1", title: "A", text: "Text.", score: 1, metadata: { _lines: "1-2*3*" } };
  const linked = { ...hit, link: "https://example.org/a>) <b>\n# x\\>?q=ü&r=(1)" };
  assert.match(
    toMarkdown(
      "?",
      [linked],
      pathsIn(() => undefined),
    ),
    "[**A**](<https://example.org/a%3E)%20%3Cb%3E%0A#%20x%5C%3E?q=ü&r=(1)>) (1, line 1-2\\*3\\*",
  );
});

test.run();
