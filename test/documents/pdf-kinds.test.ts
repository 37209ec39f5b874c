/** PDF: small files with the exact text, the pages and the messages. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { type PdfParts, pdf, pdfOf, readOne } from "./support.ts";

const page = (content: string): string => `BT /F1 12 Tf 72 700 Td ${content} ET`;

/** A font that is not in the file, with a map of characters that readers have. */
const cjkFont = (name: string, map: string, ordering: string): string =>
  `<</Type/Font/Subtype/Type0/BaseFont/${name}/Encoding/${map}/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/${name}` +
  `/CIDSystemInfo<</Registry(Adobe)/Ordering(${ordering})/Supplement 2>>/DW 1000/FontDescriptor<</Type/FontDescriptor/FontName/${name}` +
  "/Flags 6/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>>>]>>";
/** Names of glyphs that say nothing. */
const NAMELESS =
  "<</Type/Font/Subtype/Type1/BaseFont/ABCDEF+Foo/FirstChar 1/LastChar 4/Widths[500 500 500 500]/Encoding<</Type/Encoding/Differences[1/g1/g2/g3/g4]>>>>";

const TEXTS: Readonly<Record<string, [content: string, text: string, parts?: PdfParts]>> = {
  "Chinese, not embedded": [
    "<4e2d658756fd5bb6> Tj",
    "中文国家",
    { font: cjkFont("STSong-Light", "UniGB-UCS2-H", "GB1") },
  ],
  "Japanese, not embedded": [
    "<93fa967b8cea> Tj",
    "日本語",
    { font: cjkFont("MS-Mincho", "90ms-RKSJ-H", "Japan1") },
  ],
  "an exponent as Chromium prints it, and the number of a note": [
    "(10) Tj /F1 10 Tf 14 4 Td (6) Tj /F1 12 Tf 12 -4 Td (pay half.) Tj /F1 10 Tf 45.5 4 Td (1) Tj /F1 12 Tf 12 -4 Td (Others) Tj",
    "10^6 pay half. Others",
  ],
  "an item": [
    "(1.) Tj 20 0 Td (Close the valve.) Tj -20 -14 Td (2.) Tj 20 0 Td (Open it.) Tj",
    "1. Close the valve.\n2. Open it.",
  ],
  "rows of a table further apart than lines": [
    "(Boat) Tj 80 0 Td (Fee) Tj -80 -24 Td (Heron) Tj 80 0 Td (40 crowns) Tj -80 -24 Td (Wren) Tj 80 0 Td (25 crowns) Tj",
    "Boat | Fee\n--- | ---\nHeron | 40 crowns\nWren | 25 crowns",
  ],
  "an exponent": ["(It is 10) Tj /F1 7 Tf 36 5 Td (6) Tj", "It is 10^6"],
  "a word over two lines": ["(The car-) Tj 0 -14 Td (pet is red.) Tj", "The carpet is red."],
  "exponents of several characters": [
    "(10) Tj /F1 7 Tf 14 5 Td (-6) Tj /F1 12 Tf 20 -5 Td (and 2) Tj /F1 7 Tf 30 5 Td (n) Tj",
    "10^-6 and 2^n",
  ],
  "text drawn twice": ["(Total) Tj 0.3 0 Td (Total) Tj -0.3 -40 Td (Total) Tj", "Total\n\nTotal"],
  "a watermark": ["(A fee.) Tj ET BT /F1 60 Tf 0.7 0.7 -0.7 0.7 150 300 Tm (DRAFT) Tj", "A fee."],
  paragraphs: ["(One.) Tj 0 -40 Td (Two.) Tj", "One.\n\nTwo."],
  "columns of a table": [
    "(Name) Tj 200 0 Td (Price) Tj -200 -14 Td (Lamp) Tj 200 0 Td (9.50) Tj",
    "Name | Price\n--- | ---\nLamp | 9.50",
  ],
  "empty cells of a table": [
    "(Boat) Tj 100 0 Td (Jan) Tj 100 0 Td (Feb) Tj -200 -14 Td (Heron) Tj 100 0 Td (1) Tj 100 0 Td (2) Tj " +
      "-200 -14 Td (Wren) Tj 200 0 Td (3) Tj -100 -14 Td (4) Tj 100 0 Td (5) Tj -200 -14 Td (Robin) Tj 100 0 Td (6) Tj",
    "Boat | Jan | Feb\n--- | --- | ---\nHeron | 1 | 2\nWren |  | 3\n| 4 | 5\nRobin | 6",
  ],
};

for (const [what, [content, expected, parts]] of Object.entries(TEXTS))
  test(`pdf: ${what}`, async () => {
    const { passages, notes } = await readOne("a.pdf", pdfOf([page(content)], parts));
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
    assert.equal(notes, []);
  });

test("pdf: characters without a meaning are counted by page", async () => {
  const known = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
  const file = pdfOf(
    [
      page("<01020304> Tj"),
      page("<0102> Tj"),
      `${page("<03> Tj")} BT /F2 12 Tf 72 600 Td (Known.) Tj ET`,
    ],
    { font: NAMELESS },
  );
  const both = Buffer.from(
    file.toString("latin1").replaceAll("/F1 3 0 R", `/F1 3 0 R/F2 ${known}`),
    "latin1",
  );
  const { passages, notes } = await readOne("a.pdf", both);
  assert.equal(
    passages.map(({ text, metadata }) => [text, metadata!._page]),
    [["Known.", 3]],
  );
  assert.match(
    notes[0]!,
    /^a\.pdf: expected fonts that say .*, which are left out: 4 on page 1, 2 on page 2, 1 on page 3; /,
  );
});

test("pdf: headings by size, running heads, contents, paragraphs over a page's end", async () => {
  const withEdges = (number: number, content: string): string =>
    `BT /F1 10 Tf 72 760 Td (Harbour guide) Tj ET ${content} BT /F1 10 Tf 300 40 Td (Page ${number} of 3) Tj ET`;
  const dots = (title: string, number: number) => `(${title} ........ ${number}) Tj 0 -14 Td`;
  const heading = (text: string) => `/F1 18 Tf (${text}) Tj /F1 12 Tf 0 -30 Td`;
  const file = pdfOf([
    withEdges(1, page(`${dots("Fees", 2)} ${dots("Boats", 2)} ${dots("Times", 3)}`)),
    withEdges(
      2,
      page(
        `${heading("Fees")} (The fee is 40 crowns.) Tj 0 -60 Td ${heading("Times")} (It leaves) Tj`,
      ),
    ),
    withEdges(
      3,
      page("(at noon on each day of the week.) Tj 0 -40 Td (Or later, says 2 of 3.) Tj"),
    ),
  ]);
  const { passages, notes } = await readOne("a.pdf", file);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._page, metadata!._pages]),
    [
      ["a > Fees", "The fee is 40 crowns.", 2, undefined],
      [
        "a > Times",
        "It leaves\nat noon on each day of the week.\n\nOr later, says 2 of 3.",
        2,
        "2-3",
      ],
    ],
  );
  assert.equal(notes, []);
});

test("pdf: headings by bookmarks, also in letters as large as those of the text", async () => {
  const file = pdfOf(
    [
      page("(1.2 Fees) Tj 0 -30 Td (The fee is 40 crowns.) Tj"),
      page("(Fees and times are below.) Tj 0 -30 Td (Times) Tj 0 -30 Td (At noon.) Tj"),
    ],
    {
      bookmarks: [
        ["Fees", 1],
        ["2 Times", 2],
      ],
    },
  );
  const { passages } = await readOne("a.pdf", file);
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [
      ["a > 1.2 Fees", "The fee is 40 crowns.\n\nFees and times are below."],
      ["a > Times", "At noon."],
    ],
  );
});

test("pdf: pages without text are named", async () => {
  const { notes } = await readOne("a.pdf", pdfOf([page("(One.) Tj"), "", page("(Three.) Tj"), ""]));
  assert.match(notes[0]!, /^a\.pdf: expected text on each page, got 2 without text: page 2, 4; /);
});

test("pdf: the pages that a passage stands on, which does not join two slides", async () => {
  const { passages } = await readOne("a.pdf", pdf("One.", "Two.", "Three."));
  assert.equal(
    passages.map(({ text, metadata }) => [text, metadata!._page, metadata!._pages]),
    [["One.\n\nTwo.\n\nThree.", 1, "1-3"]],
  );
  const slides = pdfOf([page("(One.) Tj"), page("(Two.) Tj")], { size: [800, 710] });
  assert.equal(
    (await readOne("a.pdf", slides)).passages.map(({ text, metadata }) => [text, metadata!._page]),
    [
      ["One.", 1],
      ["Two.", 2],
    ],
  );
});

test("pdf: titles that say nothing give way to the largest line, else to the name of the file", async () => {
  const text = "(The lion lives.) Tj 0 -14 Td (It roars.) Tj 0 -14 Td (It sleeps.) Tj";
  const large = page(`/F1 24 Tf (Lions) Tj /F1 12 Tf 0 -40 Td ${text}`);
  const titleOf = async (content: string, title?: string) =>
    (await readOne("my-file.pdf", pdfOf([content], title === undefined ? {} : { title })))
      .passages[0]!.title;
  assert.is(await titleOf(large, "Cats of Africa"), "Cats of Africa > Lions");
  for (const useless of [
    "Microsoft Word - Document1",
    "untitled",
    "\\(anonymous\\)",
    "report.doc",
    "",
    undefined,
  ]) {
    assert.is(await titleOf(large, useless), "Lions", useless);
    assert.is(await titleOf(page(text), useless), "my file", useless);
  }
});

test.run();
