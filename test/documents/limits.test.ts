/** Hostile files: limits stop in the middle. conformance.test.ts tests what all formats promise. */

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { sourceFile } from "../../src/documents/file/source-file.ts";
import { type PdfLimits, PdfThread } from "../../src/documents/pdf/thread.ts";
import { docx, officeParts, pdfOf, readAll, readOne, wordParagraph, zip } from "./support.ts";

test("limits stop in the middle, and the other files of the folder are read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-limits-"));
  const sheet = `<worksheet xmlns="x/spreadsheetml/main"><sheetData>${'<row><c r="XFD1"/></row>'.repeat(3_000)}</sheetData></worksheet>`;
  const files: Readonly<Record<string, string | Buffer>> = {
    "commas.csv.gz": gzipSync(Buffer.alloc(20e6, ",")),
    "names.json": `{"${"a".repeat(1e6)}":[${'"b",'.repeat(1e6)}"b"]}`,
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
/** Each file meets one limit alone, whatever the load of the machine is. */
const UNLIMITED: PdfLimits = { heap: 4_096 * MIB, memory: Infinity, pageSeconds: Infinity };
const BOMBS: Readonly<Record<string, [contents: Buffer, limits: PdfLimits, message: RegExp]>> = {
  "a stream": [
    longStream(300 * MIB),
    { ...UNLIMITED, memory: 100 * MIB },
    /at most 105 MB of memory, got more/,
  ],
  "many texts": [
    nestedForms(7, 10, "BT /F1 9 Tf (a) Tj ET"),
    { ...UNLIMITED, heap: 60 * MIB },
    /at most 62\.9 MB of memory for its texts, got more/,
  ],
  "a page without end": [
    nestedForms(30, 10, "BT /F1 9 Tf (a) Tj ET"), // pdf.js skips a form without text
    { ...UNLIMITED, pageSeconds: 1 },
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

test("the main part of a Word document may have any name", async () => {
  const file = docx(wordParagraph("The lion lives."), "", {}, "x/y.xml");
  assert.is((await readOne("a.docx", file)).passages[0]!.text, "The lion lives.");
});

test.run();
