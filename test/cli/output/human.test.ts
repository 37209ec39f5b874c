import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { formatHits, formatReply, snippet } from "../../../src/cli/output/human.ts";

const passage = {
  id: "p1",
  title: "Lions",
  text: "The lion is a large cat.\nIt lives in Africa.",
  score: 1.25,
};

test("an answer is shown with its evidence, the span marked, and times", () => {
  const reply = {
    answer: "Africa",
    tokenIds: [1],
    confidence: 0.5,
    abstained: false,
    evidence: [],
    passages: [
      { ...passage, attention: 0.75, span: { start: 37, end: 43 } },
      { id: "p2", title: "", text: "No.", score: 0.5, attention: 0.25 },
      { id: "p3", title: "", text: "Not read.", score: 0.4, attention: 0 },
    ],
    times: { retrieve: 12.3, read: 45.6 },
  };
  const expected = `Where do lions live?
[Africa] (confidence 50 %)
   1. Lions (p1): score 1.250, attention 75 %
      The lion is a large cat. It lives in [Africa].
   2. p2: score 0.500, attention 25 %
      No.
   3. p3: score 0.400
      Not read.
retrieve 12 ms, read 46 ms
`;
  assert.is(formatReply("Where do lions live?", reply, false), expected);
  assert.is(
    formatReply("Where do lions live?", reply, true),
    expected.replaceAll("[Africa]", "\x1b[1mAfrica\x1b[22m"),
  );
  assert.match(
    formatReply("?", { ...reply, answer: "", abstained: true }, false),
    "\nno answer (confidence 50 %)\n",
  );
  assert.match(
    formatReply("?", { ...reply, unknown: ["KX-\x1b4499", "Ann"] }, false),
    '%)\nno passage has "KX- 4499" or "Ann"\n',
  );
});

test("blocks are shown with their lines in place of the passages", () => {
  const block = { id: "p1", title: "Lions", start: 0, end: 40, kind: "list" as const };
  const reply = {
    ...{ answer: "", tokenIds: [], confidence: 0.1, abstained: false, passages: [] },
    evidence: [{ ...block, text: "Lions:\n- live in \x1bAfrica\n- sleep", score: 0.8, page: 2 }],
    times: { retrieve: 1, read: 2 },
  };
  const shown = formatReply("Lions?", reply, false);
  assert.match(shown, "no short answer; these passages say:\n   1. Lions (p1), page 2: 80 %\n");
  assert.match(shown, "\n      Lions:\n      - live in Africa\n      - sleep\n");
  const answered = {
    ...reply,
    answer: "Africa",
    evidence: [{ ...block, text: "In Africa.", score: 0.8, span: { start: 3, end: 9 } }],
  };
  assert.match(formatReply("Lions?", answered, false), "      In [Africa].\n");
});

test("passages found are numbered and on one line each", () => {
  assert.is(
    formatHits("lions?", [passage]),
    "lions?\n   1. 1.250  Lions (p1)\n      The lion is a large cat. It lives in Africa.\n",
  );
});

test("a text cannot steer the terminal", () => {
  const steering = "a\x1b[2Jb\rc\u009b1m\u0007";
  const shown = formatHits(steering, [{ id: steering, title: steering, text: steering, score: 1 }]);
  assert.not.match(shown.replaceAll("\n", ""), /\p{Cc}/u);
});

test("an snippet is short, and has the span where it stands", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "bc ", " ", "word "), maxLength: 400 });
  fc.assert(
    fc.property(text, fc.nat(), fc.nat(300), (value, first, length) => {
      const start = first % (value.length + 1);
      const end = Math.min(value.length, start + length);
      const shown = snippet(value, { start, end }, false);
      assert.ok(shown.length <= Math.max(240, end - start) + "[…]…".length);
      assert.ok(shown.includes(`[${value.slice(start, end).replace(/\s+/g, " ")}]`));
      const [before = "", after = ""] = [
        shown.slice(0, shown.indexOf("[")),
        shown.slice(shown.indexOf("]") + 1),
      ];
      const flat = (part: string) => part.replace(/\s+/g, " ");
      assert.ok(flat(value.slice(0, start)).endsWith(before.replace("…", "")));
      assert.ok(flat(value.slice(end)).startsWith(after.replace("…", "")));
    }),
  );
  assert.is(snippet("x".repeat(500), undefined, false), `${"x".repeat(240)}…`);
});

test("a snippet of a table shows its rows without the line of hyphens", () => {
  const table = "Prices:\nItem | Price\n--- | ---\nTea | 2 EUR\nMilk | 1 EUR";
  const start = table.indexOf("2 EUR");
  const shown = snippet(table, { start, end: start + 5 }, false);
  assert.is(shown, "Prices: Item | Price Tea | [2 EUR] Milk | 1 EUR");
  assert.is(snippet("Use a --- b | c --- d", undefined, false), "Use a --- b | c --- d");
});

test("the documents of near-duplicates stand below a hit", () => {
  const duplicates = [
    { id: "b#1", title: "B", document: "b.md" },
    { id: "b#2", title: "B", document: "b.md" },
    { id: "c", title: "" },
  ];
  const shown = formatHits("?", [{ id: "a", title: "", text: "A.", score: 1, duplicates }]);
  assert.match(shown, /A\.\n {6}also in b\.md, c\n/);
});

test.run();
