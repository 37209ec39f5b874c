/**
 * A case of every format, by the name of a file: a sample, the texts of its passages, and files
 * that take parsers long. The conformance suite and the fuzz campaign go through them.
 *
 * The suite fails for a reader without a case.
 */

import { epub, openDocument, pptx, shape, slideText, tableOf, xlsx } from "./office-files.ts";
import { docx, pdf, pdfOf, wordParagraph } from "./support.ts";

export interface FormatCase {
  /** A small valid file with much of what the format has. */
  readonly sample: string | Made;
  /** The texts of its passages: all of the sample that is text, and nothing twice. */
  readonly texts: readonly string[];
  /** Files that repeat a part. Reading them takes a time that grows with their size. */
  readonly hostile: readonly Hostile[];
}

/** A file that is made of its main part, such as the XML of a Word document. */
export interface Made {
  readonly part: string;
  make(part: string): Buffer;
}

/** A file of about this size, by what it repeats. */
export interface Hostile {
  readonly repeats: string;
  make(size: number): string | Buffer;
}

export const bytesOf = (sample: string | Made): Buffer =>
  typeof sample === "string" ? Buffer.from(sample) : sample.make(sample.part);

const filled = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length));

/** Texts that repeat a unit, between a start and an end. */
const repeating = (...units: readonly string[]): Hostile[] =>
  units.map((unit) => ({ repeats: unit, make: (size) => filled(unit, size) }));

const between = (start: string, unit: string, end = ""): Hostile => ({
  repeats: start + unit,
  make: (size) => start + filled(unit, size) + end,
});

/** Containers that repeat a part. They are larger than texts, because opening them takes time. */
const containing = (
  make: (part: string) => string | Buffer,
  ...units: readonly string[]
): Hostile[] =>
  units.map((unit) => ({ repeats: unit, make: (size) => make(filled(unit, 10 * size)) }));

const HTML: FormatCase = {
  sample:
    '<!doctype html><meta charset="utf-8"><title>Rhine</title><main><h1>Flow</h1><p hidden>No</p>' +
    "<p>It flows &amp; flows<br>on.</p><table><tr><td>a<td>b</table><script>alert(1)</script></main>",
  texts: ["It flows & flows\non.\n\na | b"],
  hostile: [
    between("<pre>a", "\t", "b</pre>"),
    between("<p>a", " \n\t", "b"),
    between("<table><tr><td>", "a<br>"),
    between("<pre>", "\n ", "x"),
    ...repeating(
      "<table><tr><td>a",
      "<sup>a",
      "<h2>a<a href=#x>b",
      "<span style='display:none'>",
      "<dl><dt>a<dd>b",
      "<",
    ),
  ],
};

const MARKDOWN: FormatCase = {
  sample:
    "---\ntitle: Guide\n---\n# Install\n\nRun [it](x.md).\n\n```sh\nnpm i\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
  texts: ["Run it.\n\nnpm i\n\na | b\n--- | ---\n1 | 2"],
  hostile: [
    between("---\n", "&a [*a,", "]\n---\n"),
    between("---\n", "a: ["),
    ...repeating("*a_ ", "[", "![[", "> ", "a **", "`", "- a\n", "|-|-\n", "[a](<", "<a "),
    ...repeating("[^a]: x\n", ": a\n"),
  ],
};

const TABLES = [",", '"', 'a,"b\n', '"""', "a\n", " ", "#\n", '"a" '];

const SLIDE =
  shape("title", slideText("Energy")) +
  shape("body", slideText("The sun.")) +
  tableOf([
    ["a", "b"],
    ["c", "1"],
  ]);
const SHEET =
  '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="str"><v>Price</v></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>Lamp</t></is></c><c r="B2" s="1"><v>45413</v></c></row></sheetData><mergeCells><mergeCell ref="A2:A3"/></mergeCells>';
const OPEN_TEXT =
  '<text:h text:outline-level="1">Scope</text:h><text:p>In 10<text:note><text:note-body><text:p>N.</text:p></text:note-body></text:note><text:s text:c="2"/></text:p><text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>';
const OPEN_TABLE =
  '<table:table table:name="S"><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="9.5"><text:p>9,5</text:p></table:table-cell></table:table-row></table:table>';
const OPEN_SLIDE =
  '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Wind</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>It blows.</text:p></draw:text-box></draw:frame></draw:page>';
const CHAPTER =
  '<h1>Night</h1><p>He sat.<a epub:type="noteref" href="#n">1</a></p><aside id="n">N.</aside>';

export const CASES: Readonly<Record<string, FormatCase>> = {
  "notes.txt": {
    sample: "The committee meets on Monday.\n\nIt was late. Nobody came – “why?”\n",
    texts: ["The committee meets on Monday.\n\nIt was late. Nobody came – “why?”"],
    hostile: repeating(
      "a. ",
      "- ",
      ".",
      "\t",
      "中",
      "(",
      "e.g. ",
      "a   b",
      "a\n\n",
      "Aa\n===\n",
      "A\n b\n",
      "1. a\n\n",
      "- a\nb\n",
    ),
  },
  "jail.ini": {
    sample: "; Times are in seconds.\n\n[sshd]\nmaxretry = 5\n",
    texts: ["Times are in seconds.", "maxretry = 5"],
    hostile: repeating("#", "[a]\n", "# a\n", "a = b\n", "# A\n\n", "a: ", "[", " "),
  },
  "guide.md": MARKDOWN,
  "guide.mdx": {
    sample: "import A from 'a'\n\n# Install {#i}\n\n<A b={1}>\n\n- x\n\n</A>\n",
    texts: ["- x"],
    hostile: repeating("<A b={", "{/*", "import \n"),
  },
  "page.html": HTML,
  "table.csv": {
    sample: 'id,title,text,year\n1,Lion,"It ""lives""\nin Africa",1999\n2,Cat,Purrs,\n',
    texts: ['year: 1999\n\nIt "lives"\nin Africa', "Purrs"],
    hostile: [between("a,b\n", '"a\n'), ...repeating(...TABLES)],
  },
  "table.tsv": {
    sample: "name\tplace\nLion\tAfrica\nCat\tIndia\n",
    texts: ["name: Lion\nplace: Africa", "name: Cat\nplace: India"],
    hostile: repeating("\t", 'a\t"b\n', "a\n"),
  },
  "list.json": {
    sample: '[{"id":1,"title":"Lion","text":"Africa","tags":["a"]},{"name":{"first":"Ada"}}]',
    texts: ["tags: a\n\nAfrica", "name.first: Ada"],
    hostile: [
      between("[", '{"text":"a"},', "1]"),
      between("{", '"a":{"b":1},', '"c":2}'),
      ...repeating("[", '"'),
    ],
  },
  "lines.jsonl": {
    sample: '{"id":"a","text":"Lions live."}\n{"id":"b","title":"Cat","text":"Purrs."}\n',
    texts: ["Lions live.", "Purrs."],
    hostile: repeating('{"text":"a"}\n', "[", '"a"\n', "\n", "{}x\n"),
  },
  "paper.pdf": {
    sample: {
      part: "Oxygen is an element.",
      make: (text) => pdf(text, "Its symbol is O."),
    },
    texts: ["Oxygen is an element.\n\nIts symbol is O."],
    hostile: containing(
      (text) => pdfOf([`BT /F1 9 Tf ${text} ET`]),
      ...["(a) Tj ", "(a) Tj 0 -9 Td ", "(a) Tj 90 0 Td ", "q 1 0 0 1 0 0 cm Q "],
    ),
  },
  "letter.docx": {
    sample: {
      part: wordParagraph("Cats", "Heading1") + wordParagraph("They purr &amp; sleep."),
      make: docx,
    },
    texts: ["They purr & sleep."],
    hostile: containing(
      docx,
      wordParagraph("a"),
      "<w:r><w:t>a</w:t></w:r>",
      '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>a</w:t></w:r>',
      "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
      '<w:p><w:pPr><w:numPr><w:ilvl w:val="3"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>',
    ),
  },
  "slides.pptx": {
    sample: { part: SLIDE, make: pptx },
    texts: ["The sun.\n\na | b\n--- | ---\nc | 1\n\nSay hello."],
    hostile: containing(
      pptx,
      shape("title", slideText("a")),
      shape("body", slideText("a")),
      slideText("a"),
      tableOf([["a", "b"]]),
    ),
  },
  "prices.xlsx": {
    sample: { part: SHEET, make: (xml) => xlsx({ S: xml }, ["Name"]) },
    texts: ["Name: Lamp\nPrice: 2024-05-01"],
    hostile: containing(
      (xml) => xlsx({ S: xml.replace(/^/, "<sheetData>") }),
      '<row><c t="str"><v>a</v></c></row>',
      '<c t="str"><v>a</v></c>',
      '</sheetData><mergeCells><mergeCell ref="A1:B9"/></mergeCells><sheetData>',
    ),
  },
  "report.odt": {
    sample: { part: OPEN_TEXT, make: (xml) => openDocument("text", xml) },
    texts: ["In 10\n\nN.\n\n- a"],
    hostile: containing(
      (xml) => openDocument("text", xml),
      "<text:p>a</text:p>",
      '<text:p>a<text:s text:c="9"/></text:p>',
      "<text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>",
      "<text:p>a<text:note><text:note-body><text:p>a</text:p></text:note-body></text:note></text:p>",
    ),
  },
  "prices.ods": {
    sample: { part: OPEN_TABLE, make: (xml) => openDocument("spreadsheet", xml) },
    texts: ["9,5 | 9,5", "9,5 | 9,5"], // what a person sees
    hostile: containing(
      (xml) => openDocument("spreadsheet", `<table:table>${xml}</table:table>`),
      "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>",
      '<table:table-row table:number-rows-repeated="2"/>',
      "<table:covered-table-cell/>",
    ),
  },
  "slides.odp": {
    sample: { part: OPEN_SLIDE, make: (xml) => openDocument("presentation", xml) },
    texts: ["It blows."],
    hostile: containing(
      (xml) => openDocument("presentation", xml),
      "<draw:page><draw:frame><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame></draw:page>",
    ),
  },
  "book.epub": {
    sample: { part: CHAPTER, make: (xml) => epub("Faust", { "a.xhtml": xml }) },
    texts: ["He sat.\n\nN."],
    hostile: containing(
      (xml) => epub("a", { "a.xhtml": xml }),
      "<p>a</p>",
      '<p>a<a epub:type="noteref" href="#n">1</a></p>',
      "<section><h2>a</h2></section>",
    ),
  },
  "notes.ipynb": {
    sample:
      '{"cells":[{"cell_type":"markdown","source":["# A\\n","b"]},{"cell_type":"code","source":"x","outputs":[{"text":["1"]}]}]}',
    texts: ["b\n\nx\n\n1"],
    hostile: containing(
      (cells) => `{"cells":[${cells.slice(0, -1)}]}`,
      '{"cell_type":"markdown","source":"# a"},',
      '{"cell_type":"code","source":["a"],"outputs":[{"text":"b"}]},',
    ),
  },
  "manual.rst": {
    sample:
      "Guide\n=====\n\nUse ``a``. [1]_\n\n.. note:: Hot.\n\n::\n\n  code\n\n+---+\n| a |\n+---+\n\n.. [1] N.\n",
    texts: ["Use a.\n\nNote: Hot.\n\ncode\n\na\n\nN."],
    hostile: [
      between("+--+--+\n", "|a |b |\n|  +--+\n", "+--+--+\n"),
      ...repeating(
        "*a ",
        "*a, **b ",
        "`a ",
        ":a:`",
        "a_ ",
        "- - ",
        ".. a::\n",
        "a\n b\n",
        "a.b.",
        "+--+\n",
      ),
    ],
  },
  "tool.1": {
    sample:
      ".TH TOOL 1\n.SH NAME\ntool \\- does it\n.SH OPTIONS\n.TP\n.B \\-v\nSays \\fImore\\fR.\n.PP\nSee\n.BR cat (1).\n",
    texts: ["tool - does it", "-v: Says more.\n\nSee cat(1)."],
    hostile: [
      between(".TS\n", "l l.\na\tT{\nb\nT}\n.T&\n", ".TE\n"),
      between(".de M\n", ".am M\na\n..\n", ".M\n"),
      ...repeating(
        ".SH a\n",
        ".TP\na\n",
        ".RS\n.TP\na\nb\n",
        ".if t \\{\n",
        ".ie n \\{\\\n",
        ".ds a \\*a\\*a\n\\*a\n",
        "\\*(ab",
        "\\fB\\s-1",
        "\\o'",
        "a\\c\n",
        "a\\\n",
        ".nf\na\n.fi\n",
        ".Bl -tag\n.It Fl a Xo\n",
        ".Op Fl a ",
      ).map((one) => ({ ...one, make: (size: number) => `.TH A 1\n.SH B\n${one.make(size)}` })),
    ],
  },
  "mail.eml": {
    sample:
      'From: A <a@b>\nSubject: =?utf-8?Q?L=C3=B6we?=\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nText.\n--b--\n',
    texts: ["Text."],
    hostile: [
      between("To: ", "a@b,", "\n\nx"),
      between("To: ", "(", "\n\nx"),
      ...repeating("a: b\n", "=?utf-8?Q?"),
    ],
  },
  "code.py": {
    sample: "import os\n\n# Adds.\ndef add(a):\n    return a\n",
    texts: ["import os", "# Adds.\ndef add(a):\n    return a"],
    hostile: repeating("def a\n", "export default ", "const a = ", "# a\n", "pub("),
  },
};
