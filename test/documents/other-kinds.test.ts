/** Encodings, plain text, notebooks, reStructuredText, e-mail and code: exact text and messages. */

import { extname } from "node:path";
import { Readable } from "node:stream";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { SkippedFile } from "../../src/documents/read-documents.ts";
import { spoolStandardInput } from "../../src/documents/standard-input.ts";
import { docx, pdf, readOne, wordParagraph, zip } from "./support.ts";

const bytes = (...parts: (string | readonly number[])[]): Buffer =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part),
    ),
  );
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");
const TEXT = "Der Löwe lebt in Afrika.";

const ENCODINGS: Readonly<Record<string, [file: string, contents: Buffer, text: string]>> = {
  "UTF-8 with a mark": ["a.txt", Buffer.from(`\ufeff${TEXT}`), TEXT],
  "UTF-16 with a mark": ["a.txt", utf16(`\ufeff${TEXT}`), TEXT],
  "UTF-16 of the other order": ["a.txt", utf16(`\ufeff${TEXT}`).swap16(), TEXT],
  "UTF-16 without a mark": ["a.txt", utf16(TEXT), TEXT],
  "UTF-16 without a mark, of the other order": ["a.txt", utf16(TEXT).swap16(), TEXT],
  "UTF-16 of Japanese letters only, of the other order": [
    "a.txt",
    utf16("日本の首都は東京です。一年に、三千七百人が住む。").swap16(),
    "日本の首都は東京です。一年に、三千七百人が住む。",
  ],
  "UTF-16 of Japanese without a mark": [
    "a.txt",
    utf16("東京は日本の首都です。 Tokyo.\n"),
    "東京は日本の首都です。 Tokyo.",
  ],
  "UTF-32": ["a.txt", bytes([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0, 0x4d, 0xf9, 1, 0]), "A\u{1f94d}"],
  "ISO-2022-JP": [
    "a.txt",
    bytes([0x1b, 0x24, 0x42, 0x46, 0x7c, 0x4b, 0x5c, 0x1b, 0x28, 0x42], "."),
    "日本.",
  ],
  "the declaration of XML": [
    "a.xhtml",
    bytes('<?xml version="1.0" encoding="windows-1251"?><p>', [0xcb, 0xe5, 0xe2], "</p>"),
    "Лев",
  ],
  "the charset of HTML": [
    "a.html",
    bytes('<meta charset="iso-8859-7"><p>', [0xe1, 0xe2], "</p>"),
    "αβ",
  ],
  "the old form of charset": [
    "a.html",
    bytes(
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>',
      [0x93, 0x80],
      " 5",
      [0x94],
      "</p>",
    ),
    "“€ 5”",
  ],
  "a text about charset": [
    "a.md",
    Buffer.from('Ö: write `<meta charset="iso-8859-7">`.'),
    'Ö: write <meta charset="iso-8859-7">.',
  ],
};

for (const [what, [file, contents, expected]] of Object.entries(ENCODINGS))
  test(`encoding: ${what}`, async () => {
    const { passages, notes } = await readOne(file, contents);
    assert.is(passages[0]!.text, expected);
    assert.equal(notes, []);
  });

test("encoding: quotes and the euro sign of Windows; a guess that is not certain is reported", async () => {
  const { passages, notes } = await readOne(
    "a.txt",
    bytes([0x93], "Gr", [0xf6, 0xdf], "e", [0x94], " kostet 5 ", [0x80], "."),
  );
  assert.is(passages[0]!.text, "“Größe” kostet 5 €.");
  assert.match(
    notes[0]!,
    /^a\.txt: expected a text that names its encoding, or UTF-8, got bytes that look like windows-1252; give --encoding/,
  );
});

test("encoding: UTF-8 with a stray byte is UTF-8", async () => {
  const { passages, notes } = await readOne(
    "a.txt",
    bytes(Buffer.from(`${TEXT} Öl `).toString("latin1"), [0xff], "."),
  );
  assert.is(passages[0]!.text, `${TEXT} Öl \ufffd.`);
  assert.match(notes[0]!, /^a\.txt: expected UTF-8, got a few bytes that are not/);
});

test("encoding: an option names it", async () => {
  const sjis = bytes([0x93, 0xfa, 0x96, 0x7b]);
  const { passages, notes } = await readOne("a.txt", sjis, { encoding: "shift_jis" });
  assert.equal([passages[0]!.text, notes], ["日本", []]);
  const error = await readOne("a.txt", sjis, { encoding: "klingon" }).catch(String);
  assert.match(String(error), /encoding: expected an encoding such as utf-8, .*, got 'klingon'/);
});

test("plain text: lists and tables keep their lines, and wrapped lines are text", async () => {
  const text = "One line\nof text.\n\n- a\n- b\n\nName   Price\nlamp   9\n";
  const { passages } = await readOne("a.txt", text);
  assert.is(passages[0]!.text, text.trim());
  assert.is(passages[0]!.metadata!._lines, "1-8");
});

test("a notebook: Markdown, code and what it printed", async () => {
  const notebook = {
    nbformat: 4,
    cells: [
      { cell_type: "markdown", source: ["# Lions\n", "\n", "They *live* in Africa."] },
      {
        cell_type: "code",
        source: ["x = 1\n", "print(x)"],
        outputs: [
          { output_type: "stream", name: "stdout", text: ["\u001b[31m1\u001b[0m\n"] },
          { output_type: "display_data", data: { "image/png": "AAAA", "text/plain": "<Figure>" } },
          { output_type: "error", ename: "KeyError", evalue: "'a'", traceback: [] },
        ],
      },
      { cell_type: "raw", source: "Raw." },
    ],
  };
  const { passages, notes } = await readOne("a.ipynb", JSON.stringify(notebook));
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._cell, metadata!._cells]),
    [["Lions", "They live in Africa.\n\nx = 1\nprint(x)\n\n1\n\nKeyError: 'a'\n\nRaw.", 1, "1-3"]],
  );
  assert.match(notes[0]!, /^a\.ipynb: expected text, got 1 output;/);
});

const RST: Readonly<Record<string, [source: string, text: string]>> = {
  "inline marks": [
    "Use ``a_b`` and *em*, **strong**, `the docs <http://x>`_, :ref:`a guide <g>`, ref_ and |v|. [1]_\n\n.. |v| replace:: 2.0\n",
    "Use a_b and em, strong, the docs, a guide, ref and 2.0.",
  ],
  exponents: ["10\\ :sup:`6` J of H\\ :sub:`2`\\ O", "10^6 J of H2O"],
  "notes and comments": [
    "Text.\n\n.. [1] The note.\n.. a comment\n\n.. _target:\n",
    "Text.\n\nThe note.",
  ],
  lists: ["- a\n  more\n- b\n\n  1. c\n  #. d\n", "- a more\n- b\n  1. c\n  2. d"],
  definitions: ["term\n   The meaning.\n", "term: The meaning."],
  fields: [":Author: Ada\n:Date: 2020\n", "Author: Ada\nDate: 2020"],
  "code after two colons": ["Run::\n\n   a\n     b\n\nDone.", "Run:\n\na\n  b\n\nDone."],
  "code of a directive": [
    ".. code-block:: sh\n   :linenos:\n\n   pip install x\n",
    "pip install x",
  ],
  admonitions: [".. warning:: Hot.\n\n.. note::\n\n   Cold.\n", "Warning: Hot.\n\nNote: Cold."],
  "a grid": [
    "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n|   | 3 |\n+---+---+\n",
    "a | b\n--- | ---\n1 | 2 3",
  ],
  columns: ["===  ===\nA    B\n===  ===\n1    2\n===  ===\n", "A | B\n--- | ---\n1 | 2"],
  "a list of rows": [
    ".. list-table:: Prices\n   :header-rows: 1\n\n   * - Name\n     - Price\n   * - Lamp\n     - 9\n",
    "Prices\n\nName | Price\n--- | ---\nLamp | 9",
  ],
  "a table of CSV": [
    '.. csv-table::\n   :header: "Name", "Price"\n\n   "Lamp", 9\n',
    "Name | Price\n--- | ---\nLamp | 9",
  ],
  images: [
    ".. figure:: a.png\n   :alt: The plan of a house\n\n   The house.\n",
    "The plan of a house\n\nThe house.",
  ],
  "directives without text": [".. toctree::\n   :maxdepth: 2\n\n   intro\n\nText.", "Text."],
};

for (const [what, [source, expected]] of Object.entries(RST))
  test(`restructuredtext: ${what}`, async () => {
    const { passages } = await readOne("a.rst", source);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

test("restructuredtext: sections and lines", async () => {
  const source = "=====\nGuide\n=====\n\nIntro.\n\nUse\n---\n\nTwo\nlines.\n\nMore\n----\n\nEnd.\n";
  const { passages } = await readOne("a.rst", source);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._lines]),
    [
      ["Guide", "Intro.", "5"],
      ["Guide > Use", "Two lines.", "10-11"],
      ["Guide > More", "End.", "16"],
    ],
  );
});

test("e-mail: a limit is named, and is no defect", async () => {
  const nested = (depth: number): string =>
    depth === 0
      ? "Content-Type: text/plain\n\nHello.\n"
      : `Content-Type: multipart/mixed; boundary="x${depth}"\n\n--x${depth}\n${nested(depth - 1)}`;
  for (const [mail, got] of [
    [`Subject: Deep\n${nested(60)}`, /got Maximum MIME nesting depth of 50 /],
    [`Subject: Long\nX-Long: ${"y".repeat(2.5e6)}\n\nHello.\n`, /got Maximum header size of /],
  ] as const) {
    const messages: string[] = [];
    const onSkip = ({ problem }: SkippedFile): number => messages.push(problem.message);
    await readOne("a.eml", mail, { onSkip }).catch(() => {}); // no other document in the folder
    assert.is(messages.length, 1);
    assert.match(messages[0]!, got);
    assert.not.match(messages[0]!, "defect");
  }
});

test("e-mail: people, date, subject and text; attachments are counted", async () => {
  const mail = [
    "From: =?utf-8?Q?J=C3=B6rg?= <j@x.org>",
    "To: Ada <ada@x.org>, b@x.org",
    "Date: Wed, 01 May 2024 10:00:00 +0200",
    "Subject: Lamp",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "The lamp costs 5=20=E2=82=AC.",
    "--b",
    "Content-Type: application/pdf",
    "Content-Disposition: attachment; filename=a.pdf",
    "",
    "x",
    "--b--",
    "",
  ].join("\r\n");
  const { passages, notes } = await readOne("a.eml", mail);
  assert.equal([passages[0]!.title, passages[0]!.text], ["Lamp", "The lamp costs 5 €."]);
  assert.equal(passages[0]!.metadata, {
    ...{ _source: "a.eml", from: "Jörg <j@x.org>", to: ["Ada <ada@x.org>", "b@x.org"] },
    date: "2024-05-01T08:00:00.000Z",
  });
  assert.match(notes[0]!, /got 1 attachment;/);
});

test("code: parts begin at definitions, with their comments", async () => {
  const python =
    "import os\n\n# Adds.\ndef add(a, b):\n    return a + b\n\n\nclass Lion:\n    def roar(self):\n        pass\n";
  const { passages } = await readOne("a.py", python);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._lines]),
    [
      ["a.py", "import os", "1"],
      ["a.py > add", "# Adds.\ndef add(a, b):\n    return a + b", "3-5"],
      ["a.py > Lion", "class Lion:\n    def roar(self):\n        pass", "8-10"],
    ],
  );
});

test("standard input: the first bytes tell the format", async () => {
  const files: Readonly<Record<string, Buffer>> = {
    ".docx": docx(wordParagraph("a")),
    ".xlsx": zip({ "[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>" }),
    ".pptx": zip({ "[Content_Types].xml": "<x/>", "ppt/presentation.xml": "<x/>" }),
    ".odp": Buffer.from(
      `PK\x03\x04${"\0".repeat(26)}mimetypeapplication/vnd.oasis.opendocument.presentation`,
    ), // the type is not compressed
    ".pdf": pdf("a"),
    ".json": Buffer.from("[1]"),
    ".html": Buffer.from("<!doctype html>a"),
    ".txt": Buffer.from("a"),
  };
  for (const [ending, contents] of Object.entries(files)) {
    await using input = await spoolStandardInput(undefined, Readable.from([contents]));
    assert.is(extname(input.path), ending);
  }
});

test.run();
