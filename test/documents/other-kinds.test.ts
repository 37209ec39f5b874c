/** Encodings, plain text, notebooks, reStructuredText, e-mail and code: exact text and messages. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { SkippedFile } from "../../src/documents/read-documents.ts";
import { spoolStandardInput } from "../../src/documents/standard-input.ts";
import { docx, pdf, readAll, readOne, wordParagraph, zip } from "./support.ts";

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

test("plain text: underlined lines are headings", async () => {
  const text =
    "Fees\n====\n\nIt is 40.\n\nIn winter\n---------\nIt is 25.\n\na   b\n-----\nc   d\n";
  const { passages } = await readOne("a.txt", text);
  assert.equal(
    passages.map(({ metadata, text }) => [metadata!._headings, metadata!._lines, text]),
    [
      [["Fees"], "4", "It is 40."],
      [["Fees", "In winter"], "8-12", "It is 25.\n\na   b\n-----\nc   d"],
    ],
  );
});

test("plain text: conversations are divided between lines", async () => {
  const said = (i: number): string => `we talk about buoy ${i} and what it costs`;
  const lines = {
    times: (i: number) => `[${String(i).padStart(2, "0")}:00] Orla: ${said(i)}`,
    dates: (i: number) => `12/05/2024, 10:${String(i).padStart(2, "0")} - Orla: ${said(i)}`,
    names: (i: number) => `${i % 2 ? "Orla Finn" : "Piet"}: ${said(i)}`,
  };
  for (const line of Object.values(lines)) {
    const all = Array.from({ length: 40 }, (_, i) => line(i));
    const { passages } = await readOne("a.txt", all.join("\n"));
    assert.ok(passages.length > 2);
    assert.equal(
      passages.flatMap(({ text }) => text.split("\n")),
      all,
    );
  }
});

/** Title and text of each passage. */
const titled = async (name: string, contents: string): Promise<string[]> => {
  const { passages } = await readOne(name, contents);
  return passages.map(({ title, text }) => `${title}: ${text}`);
};

test("plain text: a manual page has sections, and each option its definition", async () => {
  const page = `NAME
       mend - repair a file

OPTIONS
   General
       -f, --force
              Repair the file, even if it is whole. This is needed where an‐
              other program has written the file.

       -q     Say nothing.
`;
  assert.equal(await titled("mend.txt", page), [
    "mend > NAME: mend - repair a file",
    "mend > OPTIONS > General: -f, --force\n\nRepair the file, even if it is whole. This is " +
      "needed where another program has written the file.\n\n-q     Say nothing.",
  ]);
});

test("plain text: numbered sections are headings, a numbered list is none", async () => {
  const text = `2. Time

2.1. Which clocks are
     used?

You need three things

  o a clock in your computer

  o a driver, which the system loads when the
    clock is asked

1. Stop the clock

2. Start the clock
`;
  assert.equal(await titled("faq.txt", text), [
    "faq > 2. Time > 2.1. Which clocks are used?: You need three things\n\n" +
      "o a clock in your computer\no a driver, which the system loads when the clock is asked\n" +
      "1. Stop the clock\n2. Start the clock",
  ]);
});

test("plain text: an item of several lines is one, and no passage begins inside of it", async () => {
  const item = "* The distance is limited by the directive, which has a value\n  (3 seconds)\n";
  const { passages } = await readOne("news.txt", item.repeat(40));
  assert.ok(passages.length > 2);
  for (const { text, metadata } of passages) {
    for (const line of text.split("\n")) assert.match(line, /^\* .*\(3 seconds\)$/);
    const [first, last] = String(metadata!._lines).split("-").map(Number);
    assert.is((last! - first! + 1) / 2, text.split("\n").length);
  }
});

test("plain text: lines of code keep their breaks", async () => {
  const code =
    'export PATH="$HOME/a/long/folder/of/programs:$PATH";\nmake install --prefix=/usr/lib;';
  const { passages } = await readOne(
    "a.txt",
    `First set the path of the programs, and\ninstall:\n\n${code}`,
  );
  assert.ok(passages[0]!.text.endsWith(code));
});

test("settings: comments are text, settings keep their lines, sections are headings", async () => {
  const file = `# Times are in seconds. A host that failed more often than this
# number of times is banned.

[sshd]
# how often
maxretry = 5

#######################
### FURTHER SETTINGS
; enabled = true
`;
  assert.equal(await titled("jail.conf", file), [
    "jail: Times are in seconds. A host that failed more often than this number of times is banned.",
    "jail > sshd: # how often\nmaxretry = 5",
    "jail > sshd > FURTHER SETTINGS: ; enabled = true",
  ]);
  const yaml = "# Who may log in.\nusers:\n  - name: Orla\n";
  assert.equal(await titled("login.yaml", yaml), [`login: ${yaml.trimEnd()}`]);
});

test("plain text: dots of a table of contents are left out, those of prices are not", async () => {
  const contents = "1 Fees ........ 3\n2 Piers . . . . 12\n3 Boats ....... 12\n";
  const prices = "Tea ........ 5\nCoffee ..... 4\nMilk ....... 6\n";
  const { passages } = await readOne("a.txt", `${contents}\n${prices}\nText.\n`);
  assert.is(passages.map(({ text }) => text).join("\n\n"), `${prices}\nText.`);
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
  "stars that are no marks": [
    "def f(*args, **kwargs) takes *.txt and *one* **two** a*b*c.",
    "def f(*args, **kwargs) takes *.txt and one two a*b*c.",
  ],
  "notes whose text begins on the next line": [
    "Text. [1]_\n\n.. [1]\n   The note.\n\n   Its end.\n",
    "Text.\n\nThe note.\n\nIts end.",
  ],
  "an empty comment ends with its line": [
    "1. a\n\n..\n\n   The fee.\n\n..\n   a comment\n",
    "1. a\n\nThe fee.",
  ],
  versions: [
    ".. versionadded:: 2.1\n   The option.\n\n.. deprecated:: 3.0 Use it\n   no more.\n\n.. versionchanged:: 4\n",
    "Added in version 2.1: The option.\n\nDeprecated since version 3.0: Use it no more.\n\nChanged in version 4",
  ],
  "replacements of two lines, and characters": [
    ".. |o| replace:: the board\n   of Fennick\n.. |b| unicode:: U+03B2 .. beta\n\nAsk |o| for |b|.\n",
    "Ask the board of Fennick for β.",
  ],
  "an initial is no number": ["A. Finn wrote\nthe rules.\n", "A. Finn wrote the rules."],
  "cells of a grid over rows and columns, and text beside a border": [
    "+---+-------+\n| a | b     |\n+===+===+===+\n| H | s | 4 |\n| e +---+---+\n| r | w | 2 |\n| n |   |   |\n+---+---+---+\n| x | y     |\n+---+---+---+\n",
    "a | b | b\n--- | --- | ---\nH e r n | s | 4\nH e r n | w | 2\nx | y | y",
  ],
  "bars in the cells of a grid": [
    "+-----+-----+\n| a|b | c   |\n+-----+-----+\n| d   | e|f |\n+-----+-----+\n",
    "a|b | c\n--- | ---\nd | e|f",
  ],
  "wide letters in tables": [
    "+------+------+\n| 青鷺 | 四十 |\n+------+------+\n\n====  ====\n青鷺  四十\n雀    五\n====  ====\n",
    "青鷺 | 四十\n\n青鷺 | 四十\n雀 | 五",
  ],
  "columns with one name": [
    "==  ==  ==\n  In    Out\n------  --\nA   B   C\n==  ==  ==\n1   2   3\n==  ==  ==\n",
    "In | In | Out\nA | B | C\n--- | --- | ---\n1 | 2 | 3",
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
  "roles before and behind a text": [
    "See :pep:`8`, :rfc:`822`, `docs`:doc:, :guilabel:`&Save`, :func:`!f`, :file:`a/{b}`.",
    "See PEP 8, RFC 822, docs, Save, f, a/b.",
  ],
  "pictures in a text, and targets of links without a name": [
    "The |ship| `here`__.\n\n.. |ship| image:: a.png\n   :alt: red boat\n\n__ http://x\n",
    "The red boat here.",
  ],
  "an empty first cell of a row": [
    "===  ===\nA    B\n===  ===\n1    2\n\\    3\n===  ===\n",
    "A | B\n--- | ---\n1 | 2\n| 3",
  ],
  "a sidebar": [
    ".. sidebar:: Piers\n   :subtitle: Of Fennick\n\n   Two.\n\n.. seealso:: Boats.\n",
    "Piers\n\nOf Fennick\n\nTwo.\n\nSee also: Boats.",
  ],
  "directives without text": [".. toctree::\n   :maxdepth: 2\n\n   intro\n\nText.", "Text."],
};

for (const [what, [source, expected]] of Object.entries(RST))
  test(`restructuredtext: ${what}`, async () => {
    const { passages } = await readOne("a.rst", source);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

test("restructuredtext: titles of one and two letters", async () => {
  const { passages } = await readOne("b.rst", "A\n-\n\nOne.\n\nBB\n--\n\nTwo.\n");
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [
      ["b > A", "One."],
      ["b > BB", "Two."],
    ],
  );
});

test("restructuredtext: what Sphinx takes from code keeps the text that stands below it", async () => {
  const { passages } = await readOne(
    "a.rst",
    ".. module:: caches\n\n.. autoclass:: Random(size)\n   :members:\n\n   It discards items by chance.\n\n" +
      ".. autoclass:: Plain\n\n.. option:: -x\n\n   Ends.\n",
  );
  assert.equal(
    passages.map(({ text }) => text),
    ["Random(size): It discards items by chance.\n\nPlain\n\n-x: Ends."],
  );
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

const MAIL_TYPES: Readonly<Record<string, [type: string, body: string, text: string]>> = {
  "a page that names its charset": [
    "text/html",
    '<meta charset="windows-1251"><p>\u00cb\u00e5\u00e2</p>',
    "Лев",
  ],
  "several parts without a boundary": ["multipart/mixed", "At noon.", "At noon."],
  Markdown: ["text/markdown; charset=utf-8", "At *noon*.", "At *noon*."],
};

for (const [what, [type, body, expected]] of Object.entries(MAIL_TYPES))
  test(`e-mail: ${what}`, async () => {
    const { passages, notes } = await readOne(
      "a.eml",
      bytes(`Subject: Lamp\nContent-Type: ${type}\n\n${body}\n`),
    );
    assert.equal([passages.map(({ text }) => text), notes], [[expected], []]);
  });

test("e-mail: UTF-7 is named", async () => {
  const mail = "Subject: Lamp\nContent-Type: text/plain; charset=utf-7\n\nCaf+AOk-\n";
  const { notes } = await readOne("a.eml", mail);
  assert.match(notes[0]!, /got utf-7;/);
});

test("names without an ending: texts are read by what they are, others are of unknown format", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-unnamed-"));
  const files: Readonly<Record<string, string | Buffer>> = {
    LICENSE: "You may copy it.\n",
    Makefile: "all:\n\tcc a.c\n",
    "README.gz": gzipSync("A lamp.\n"),
    config: "# Times are in seconds.\n\n[user]\nname = Orla\n",
    crontab: "# m h command\n17 * backup\n# at night\n0 2 clean\n",
    page: "<!DOCTYPE html><title>T</title><p>One &amp; two.",
    data: '[{"id": "a", "text": "Red."}, {"id": "b", "text": "Blue."}]',
    services: `# Services\n${Array.from({ length: 6 }, (_, i) => `s${i}\t\t${i}/tcp\n`).join("")}`,
    latin1: Buffer.from([0x63, 0xe9]),
    program: Buffer.from("\x7fELF\0\x01"),
    large: "word ".repeat(300_000),
    empty: "",
  };
  for (const [name, contents] of Object.entries(files))
    await writeFile(join(folder, name), contents);
  const skipped: SkippedFile[] = [];
  const { passages } = await readAll(folder, { onSkip: (one) => void skipped.push(one) });
  await rm(folder, { recursive: true });
  const textsOf = (name: string): string[] =>
    passages.flatMap(({ text, metadata }) => (metadata!._source === name ? [text] : []));
  assert.equal(textsOf("LICENSE"), ["You may copy it."]);
  assert.equal(textsOf("Makefile"), ["all:\n\tcc a.c"]);
  assert.equal(textsOf("README.gz"), ["A lamp."]);
  assert.equal(textsOf("config"), ["Times are in seconds.", "name = Orla"]);
  assert.equal(textsOf("crontab"), ["# m h command\n17 * backup\n# at night\n0 2 clean"]);
  assert.equal(textsOf("page"), ["One & two."]);
  assert.equal(textsOf("data"), ["Red.", "Blue."]);
  assert.is(textsOf("services").length, 6);
  assert.equal(
    skipped.map(({ file, isUnknownFormat, isDamage }) => [file, isUnknownFormat, isDamage]),
    ["empty", "large", "latin1", "program"].map((name) => [name, true, false]),
  );
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

const MAILS: Readonly<Record<string, [headers: string, body: string, text: string]>> = {
  "windows-1252 in QP": [
    "Content-Type: text/plain; charset=windows-1252\nContent-Transfer-Encoding: quoted-printable",
    "=8045, isn=92t it",
    "€45, isn’t it",
  ],
  "iso-8859-1 is windows-1252": ["Content-Type: text/plain; charset=iso-8859-1", "\x8045", "€45"],
  "us-ascii is windows-1252": ["Content-Type: text/plain; charset=us-ascii", "isn\x92t", "isn’t"],
  "windows-1252 in HTML": ["Content-Type: text/html; charset=windows-1252", "<p>\x8045</p>", "€45"],
  "bytes without a charset": [
    "X-Mailer: y",
    "Die Prüfung für Zürich fällt aus.",
    "Die Prüfung für Zürich fällt aus.",
  ],
  "a type without its second half": [
    "Content-Type: text; charset=us-ascii",
    "Code 4711.",
    "Code 4711.",
  ],
  "quoted lines that flow": [
    "Content-Type: text/plain; format=flowed",
    "> quoted words of \n> Piet",
    "> quoted words of Piet",
  ],
  "a placeholder beside HTML": [
    "Content-Type: multipart/alternative; boundary=b",
    "--b\nContent-Type: text/plain\n\nThis message is in HTML.\n--b\n" +
      "Content-Type: text/html\n\n<p>The berth costs 25 crowns.</p>\n--b--",
    "The berth costs 25 crowns.",
  ],
  "a text beside the same in HTML": [
    "Content-Type: multipart/alternative; boundary=b",
    "--b\nContent-Type: text/plain\n\nIt costs *25* crowns.\n--b\n" +
      "Content-Type: text/html\n\n<p>It costs 25 crowns. Unsubscribe</p>\n--b--",
    "It costs *25* crowns.",
  ],
};

for (const [what, [headers, body, expected]] of Object.entries(MAILS))
  test(`e-mail: ${what}`, async () => {
    const mail = Buffer.from(`Subject: s\n${headers}\n\n${body}\n`, "latin1");
    const { passages } = await readOne("a.eml", mail);
    assert.is(passages[0]!.text, expected);
  });

test("e-mail: no blank line below the headers", async () => {
  const { passages } = await readOne("a.eml", "From: o@x.org\nSubject: Berth\nThe code is 4711.\n");
  assert.equal([passages[0]!.title, passages[0]!.text], ["Berth", "The code is 4711."]);
});

test("e-mail: an unknown charset is named", async () => {
  const { notes } = await readOne("a.eml", "Content-Type: text/plain; charset=klingon\n\nText.\n");
  assert.match(notes[0]!, /^a\.eml: expected a charset of the Encoding Standard, got klingon;/);
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

for (const [name, source, expected] of [
  [
    "comments behind the records, and above them",
    "# Network services\n\nssh\t\t22/tcp\t\t\t# Secure Shell\necho\t\t7/udp\nhttp\t\t80/tcp\twww\t# Web\n" +
      "#\n# Local ones\n#\nimaps\t\t993/tcp\nsip  5060/udp\nsips 5061/tcp\t# Phone\n",
    [
      ["Network services", "line 1", ""],
      ["ssh | 22/tcp | Secure Shell", "line 3", ""],
      ["echo | 7/udp", "line 4", ""],
      ["http | 80/tcp | www | Web", "line 5", ""],
      ["imaps | 993/tcp", "line 9", "Local ones"],
      ["sip | 5060/udp", "line 10", "Local ones"],
      ["sips | 5061/tcp | Phone", "line 11", "Local ones"],
    ],
  ],
  [
    "a comment that names the columns",
    "# <name>\t<number> <alias>\t# Comment\n#\nIPv4\t0800\tip\t# IP\nX25\t0805\nARP\t0806\tether\nBPQ\t08FF\nRAW\t6559\n",
    [
      ["name: IPv4\nnumber: 0800\nalias: ip\nIP", "line 3", ""],
      ["name: X25\nnumber: 0805", "line 4", ""],
      ["name: ARP\nnumber: 0806\nalias: ether", "line 5", ""],
      ["name: BPQ\nnumber: 08FF", "line 6", ""],
      ["name: RAW\nnumber: 6559", "line 7", ""],
    ],
  ],
  [
    "colons",
    "root:x:0:0:root:/root:/bin/bash\na:x:1:1::/:/bin/a\nb:x:2:2::/:/bin/b\nc:x:3:3::/:/c\nd:x:4:4::/:/d\n",
    [
      ["root | x | 0 | 0 | root | /root | /bin/bash", "line 1", ""],
      ["a | x | 1 | 1 | / | /bin/a", "line 2", ""],
      ["b | x | 2 | 2 | / | /bin/b", "line 3", ""],
      ["c | x | 3 | 3 | / | /c", "line 4", ""],
      ["d | x | 4 | 4 | / | /d", "line 5", ""],
    ],
  ],
  [
    "a name, a value, a comment",
    "a 1 # One\nb 2 # Two\nc 3 # Three\nd 4 # Four\ne 5 # Five\n",
    [
      ["a | 1 | One", "line 1", ""],
      ["b | 2 | Two", "line 2", ""],
      ["c | 3 | Three", "line 3", ""],
      ["d | 4 | Four", "line 4", ""],
      ["e | 5 | Five", "line 5", ""],
    ],
  ],
] as const)
  test(`records of a line each: ${name}`, async () => {
    const { passages } = await readOne("list.txt", source);
    const found = passages.map(({ id, text, title }) => [text, id.split("#")[1], title]);
    assert.equal(found, expected);
  });

test("text with columns here and there is no table of records", async () => {
  for (const source of [
    "# Title\n\nOne  two three.\nFour five six seven.\nEight nine ten.\nAnd on.\nAnd  off.\n",
    "Time: 10:15\nPlace: Rome: Italy\nWho: a: b\nWhat: c: d\nWhy: e: f\n",
  ]) {
    const { passages } = await readOne("list.txt", source);
    assert.ok(passages.every(({ id }) => !id.includes("line")));
  }
});

for (const [name, file, source, expected] of [
  [
    "an answer below a heading that is a button",
    "a.html",
    '<title>T</title><main><h2><button aria-expanded="false">Pay?</button></h2><div hidden>By card.</div></main>',
    "By card.",
  ],
  [
    "options of a command",
    "a.rst",
    "-a, --all  All files.\n--long=X   Long one\n           goes on.\n-b <n>\n    Below.\n\nEnd.\n\n-- Orla\n",
    "-a, --all: All files.\n--long=X: Long one goes on.\n-b <n>: Below.\n\nEnd.\n\n-- Orla",
  ],
  ["the name of a block of Obsidian", "a.md", "Text. ^block-id\n\nx ^2 is.\n", "Text.\n\nx ^2 is."],
] as const)
  test(name, async () => {
    const { passages } = await readOne(file, source);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

test.run();
