/** Hostile files: the time of every reader grows with the size, and limits stop in the middle. */

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { sourceFile } from "../../src/documents/file/source-file.ts";
import { type PdfLimits, PdfThread } from "../../src/documents/pdf/thread.ts";
import { epub, openDocument, pptx, shape, slideText, tableOf, xlsx } from "./office-files.ts";
import { docx, officeParts, pdfOf, readAll, readOne, wordParagraph, zip } from "./support.ts";

const SIZE = 6_000; // characters

/** A text that begins and ends so and has as many repetitions as fit. */
type Pattern = readonly [start: string, repeated: string, end: string];

const repeated = (unit: string): Pattern => ["", unit, ""];
const fill = ([start, unit, end]: Pattern, size: number): string =>
  start + unit.repeat(Math.ceil(size / unit.length)) + end;

/** Inputs that take parsers longer than they are long. */
const PATTERNS: Readonly<Record<string, readonly Pattern[]>> = {
  "a.html": [
    ["<pre>a", "\t", "b</pre>"],
    ["<p>a", " \n\t", "b"],
    ["<table><tr><td>", "a<br>", ""],
    ["<pre>", "\n ", "x"],
    repeated("<table><tr><td>a"),
    repeated("<sup>a"),
    repeated("<h2>a<a href=#x>b"),
    repeated("<span style='display:none'>"),
    repeated("<dl><dt>a<dd>b"),
    repeated("<"),
  ],
  "a.md": [
    ["---\n", "&a [*a,", "]\n---\n"],
    ["---\n", "a: [", ""],
    ...[
      "*a_ ",
      "[",
      "![[",
      "> ",
      "a **",
      "`",
      "- a\n",
      "|-|-\n",
      "[a](<",
      "<a ",
      "[^a]: x\n",
      ": a\n",
    ].map(repeated),
  ],
  "a.mdx": ["<A b={", "{/*", "import \n"].map(repeated),
  "a.rst": ["*a ", "`a ", ":a:`", "a_ ", "- - ", ".. a::\n", "a\n b\n", "a.b.", "+--+\n"].map(
    repeated,
  ),
  "a.csv": [
    ["a,b\n", '"a\n', ""],
    ...[",", '"', 'a,"b\n', '"""', "a\n", " ", "#\n", '"a" '].map(repeated),
  ],
  "a.json": [
    ["[", '{"text":"a"},', "1]"],
    ["{", '"a":{"b":1},', '"c":2}'],
    repeated("["),
    repeated('"'),
  ],
  "a.txt": ["a. ", "- ", ".", "\t", "中", "(", "e.g. ", "a   b", "a\n\n"].map(repeated),
  "a.py": ["def a\n", "export default ", "const a = ", "# a\n", "pub("].map(repeated),
  "a.eml": [
    ["To: ", "a@b,", "\n\nx"],
    ["To: ", "(", "\n\nx"],
    repeated("a: b\n"),
    repeated("=?utf-8?Q?"),
  ],
};

/** Parts of containers, repeated: the files are larger, because opening them takes some time. */
const CONTAINERS: Readonly<
  Record<string, [make: (xml: string) => string | Buffer, ...units: string[]]>
> = {
  "a.docx": [
    docx,
    wordParagraph("a"),
    "<w:r><w:t>a</w:t></w:r>",
    '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>a</w:t></w:r>',
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
    '<w:p><w:pPr><w:numPr><w:ilvl w:val="3"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>',
  ],
  "a.pptx": [
    pptx,
    shape("title", slideText("a")),
    shape("body", slideText("a")),
    slideText("a"),
    tableOf([["a", "b"]]),
  ],
  "a.xlsx": [
    (xml) => xlsx({ S: xml.replace(/^/, "<sheetData>") }),
    '<row><c t="str"><v>a</v></c></row>',
    '<c t="str"><v>a</v></c>',
    '</sheetData><mergeCells><mergeCell ref="A1:B9"/></mergeCells><sheetData>',
  ],
  "a.odt": [
    (xml) => openDocument("text", xml),
    "<text:p>a</text:p>",
    '<text:p>a<text:s text:c="9"/></text:p>',
    "<text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>",
    "<text:p>a<text:note><text:note-body><text:p>a</text:p></text:note-body></text:note></text:p>",
  ],
  "a.ods": [
    (xml) => openDocument("spreadsheet", `<table:table>${xml}</table:table>`),
    "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>",
    '<table:table-row table:number-rows-repeated="2"/>',
    "<table:covered-table-cell/>",
  ],
  "a.odp": [
    (xml) => openDocument("presentation", xml),
    "<draw:page><draw:frame><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame></draw:page>",
  ],
  "a.epub": [
    (xml) => epub("a", { "a.xhtml": xml }),
    "<p>a</p>",
    '<p>a<a epub:type="noteref" href="#n">1</a></p>',
    "<section><h2>a</h2></section>",
  ],
  "a.ipynb": [
    (cells) => `{"cells":[${cells.slice(0, -1)}]}`,
    '{"cell_type":"markdown","source":"# a"},',
    '{"cell_type":"code","source":["a"],"outputs":[{"text":"b"}]},',
  ],
  "a.pdf": [
    (text) => pdfOf([`BT /F1 9 Tf ${text} ET`]),
    "(a) Tj ",
    "(a) Tj 0 -9 Td ",
    "(a) Tj 90 0 Td ",
    "q 1 0 0 1 0 0 cm Q ",
  ],
};

/** The least processor time of two readings, in milliseconds. */
async function cost(file: string, contents: string | Buffer): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 2; i++) {
    const start = process.cpuUsage();
    await readOne(file, contents, { onSkip: () => {} }).catch(() => {});
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

for (const [file, patterns] of Object.entries(PATTERNS))
  test(`the time of ${file} grows with its size`, async () => {
    for (const pattern of patterns) {
      const [small, large] = [
        await cost(file, fill(pattern, SIZE)),
        await cost(file, fill(pattern, 4 * SIZE)),
      ];
      // below 30 ms, starting to read takes most of the time
      assert.ok(
        large <= 8 * Math.max(small, 30),
        `${JSON.stringify(pattern)}: ${small} ms, ${large} ms`,
      );
    }
  });

for (const [file, [make, ...units]] of Object.entries(CONTAINERS))
  test(`the time of ${file} grows with its size`, async () => {
    for (const unit of units) {
      const [small, large] = [
        await cost(file, make(fill(repeated(unit), 10 * SIZE))),
        await cost(file, make(fill(repeated(unit), 40 * SIZE))),
      ];
      assert.ok(large <= 8 * Math.max(small, 30), `${unit}: ${small} ms, ${large} ms`);
    }
  });

test("limits stop in the middle, and the other files of the folder are read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-limits-"));
  const sheet = `<worksheet xmlns="x/spreadsheetml/main"><sheetData>${'<row><c r="XFD1"/></row>'.repeat(3_000)}</sheetData></worksheet>`;
  const files: Readonly<Record<string, string | Buffer>> = {
    "commas.csv.gz": gzipSync(Buffer.alloc(20e6, ",")),
    "names.json": `{"${"a".repeat(1e6)}":[${"1,".repeat(1e6)}1]}`,
    "cells.html": `<table><tr>${"<td rowspan=60000 colspan=1000>a".repeat(100)}${"<tr><td>b".repeat(2_000)}`,
    "paragraphs.docx": docx("<w:p/>".repeat(2.1e6), "", {}, "other/main.xml"),
    "sheet.xlsx": zip(
      officeParts("xl/workbook.xml", {
        "xl/workbook.xml":
          '<workbook xmlns="x/spreadsheetml/main" xmlns:r="x/officeDocument/relationships"><sheets><sheet name="S" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels":
          '<Relationships><Relationship Id="a" Type="x/worksheet" Target="sheet.xml"/></Relationships>',
        "xl/sheet.xml": sheet,
      }),
    ),
    "rows.ods": zip({
      "content.xml":
        '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>' +
        '<table:table><table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="1000"><text:p>a</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document>',
    }),
    "z.txt": "The lion lives.",
  };
  for (const [name, contents] of Object.entries(files))
    await writeFile(join(folder, name), contents);
  execFileSync("mkfifo", [join(folder, "pipe.txt"), join(folder, ".gitignore")]);
  const before = process.memoryUsage().rss;
  const { passages, skipped } = await readAll(folder);
  await rm(folder, { recursive: true });
  assert.equal(
    passages.map(({ id }) => id),
    ["z.txt#1"],
  );
  assert.equal(
    Object.keys(skipped).sort(),
    [...Object.keys(files).filter((name) => name !== "z.txt"), "pipe.txt"].sort(),
  );
  for (const [name, message] of Object.entries(skipped))
    assert.match(message, name === "pipe.txt" ? /got a device, a pipe/ : /at most \d/, name);
  assert.ok(process.memoryUsage().rss - before < 1.5e9);
});

/** A PDF file whose page draws a form that draws a form, and so on. */
function nestedForms(levels: number, repetitions: number, innermost: string): Buffer {
  const draws = "/X Do ".repeat(repetitions);
  const form = (i: number): string => {
    const content = i === levels ? innermost : draws;
    const next = i === levels ? "" : `/XObject<</X ${101 + i} 0 R>>`;
    return `${100 + i} 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F1 3 0 R>>${next}>>/Length ${content.length}>>stream\n${content}\nendstream endobj`;
  };
  const forms = Array.from({ length: levels + 1 }, (_, i) => form(i)).join("\n");
  const whole = pdfOf([draws]).toString("latin1");
  return Buffer.from(
    whole
      .replace("/Font<</F1 3 0 R>>", "/Font<</F1 3 0 R>>/XObject<</X 100 0 R>>")
      .replace("1 0 obj", `${forms}\n1 0 obj`),
    "latin1",
  );
}

/** A PDF file whose page has a stream of this length. */
function longStream(length: number): Buffer {
  const packed = deflateSync(Buffer.alloc(length, " ")).toString("latin1");
  return Buffer.from(
    pdfOf(["STREAM"])
      .toString("latin1")
      .replace("/Length 6", `/Filter/FlateDecode/Length ${packed.length}`)
      .replace("STREAM", () => packed),
    "latin1",
  );
}

const MIB = 2 ** 20;
const BOMBS: Readonly<Record<string, [contents: Buffer, limits: PdfLimits, message: RegExp]>> = {
  "a stream": [
    longStream(300 * MIB),
    { heap: 1_024 * MIB, memory: 100 * MIB, pageSeconds: 60 },
    /at most 105 MB of memory, got more/,
  ],
  "many texts": [
    nestedForms(7, 10, "BT /F1 9 Tf (a) Tj ET"),
    { heap: 60 * MIB, memory: 4_096 * MIB, pageSeconds: 60 },
    /at most 62\.9 MB of memory for its texts, got more/,
  ],
  "a page without end": [
    nestedForms(30, 10, "BT /F1 9 Tf (a) Tj ET"), // pdf.js skips a form without text
    { heap: 4_096 * MIB, memory: 4_096 * MIB, pageSeconds: 1 },
    /at most 1 s for a page, got more/,
  ],
};

for (const [what, [contents, limits, message]] of Object.entries(BOMBS))
  test(`PDF: ${what}`, async () => {
    const path = join(await mkdtemp(join(tmpdir(), "reatt-limits-")), "a.pdf");
    await using thread = new PdfThread(sourceFile(path, "a.pdf"), limits);
    const page = async () => {
      await thread.open(new Uint8Array(contents));
      return thread.page(1);
    };
    assert.match(String(await page().catch(String)), message);
  });

test("a document has any number of blocks", async () => {
  const count = 150_000;
  const note = `.. note::\n\n${"   A\n\n".repeat(count)}`;
  const files = { "a.docx": docx(wordParagraph("A").repeat(count)), "a.rst": note };
  for (const [name, file] of Object.entries(files)) {
    const { passages } = await readOne(name, file);
    const words = passages.flatMap(({ text }) => text.split(/\s+/));
    assert.ok(words.filter((word) => word === "A").length >= count, name); // passages overlap
  }
});

test("signals are handled while a file is read", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("stopped")), 50);
  const page = "<p>The <b>lion</b> lives.".repeat(200_000);
  const stopped = await readOne("a.html", page, { signal: controller.signal }).catch(String);
  assert.match(String(stopped), /stopped/);
});

test("the main part of a Word document may have any name", async () => {
  const file = docx(wordParagraph("The lion lives."), "", {}, "x/y.xml");
  assert.is((await readOne("a.docx", file)).passages[0]!.text, "The lion lives.");
});

test.run();
