/** The readers of documents for the fuzz campaign, one for each format. */

import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readDocuments } from "../../src/documents/read-documents.ts";
import type { Random } from "../../src/math/random.ts";
import {
  epub,
  openDocument,
  pptx,
  shape,
  slideText,
  tableOf,
  xlsx,
} from "../documents/office-files.ts";
import { docx, pdf, tokenizer, wordParagraph } from "../documents/support.ts";
import type { FuzzedReader } from "./fuzzed-readers.ts";
import { mutateBytes } from "./mutate.ts";

/** Of all inputs, relative to the other readers. */
const SHARE = 4;
/** Reading a PDF takes longer. */
const PDF_SHARE = 1;

const XML = wordParagraph("Cats", "Heading1") + wordParagraph("They purr &amp; sleep.");
const PDF = pdf("Oxygen is an element.", "Its symbol is O.");

const TEXTS: Readonly<Record<string, string>> = {
  "notes.txt": "The committee meets on Monday.\n\nIt was late. Nobody came – “why?”\n",
  "guide.md":
    "---\ntitle: Guide\n---\n# Install\n\nRun [it](x.md).\n\n```sh\nnpm i\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
  "page.html":
    '<!doctype html><meta charset="utf-8"><title>Rhine</title><main><h1>Flow</h1><p hidden>No</p>' +
    "<p>It flows &amp; flows<br>on.</p><table><tr><td>a<td>b</table><script>alert(1)</script></main>",
  "table.csv": 'id,title,text,year\n1,Lion,"It ""lives""\nin Africa",1999\n2,Cat,Purrs,\n',
  "table.tsv": "name\tplace\nLion\tAfrica\nCat\tIndia\n",
  "list.json": '[{"id":1,"title":"Lion","text":"Africa","tags":["a"]},{"name":{"first":"Ada"}}]',
  "guide.mdx": "import A from 'a'\n\n# Install {#i}\n\n<A b={1}>\n\n- x\n\n</A>\n",
  "manual.rst":
    "Guide\n=====\n\nUse ``a`` [1]_.\n\n.. note:: Hot.\n\n::\n\n  code\n\n+---+\n| a |\n+---+\n\n.. [1] N.\n",
  "notes.ipynb":
    '{"cells":[{"cell_type":"markdown","source":["# A\\n","b"]},{"cell_type":"code","source":"x","outputs":[{"text":["1"]}]}]}',
  "mail.eml":
    'From: A <a@b>\nSubject: =?utf-8?Q?L=C3=B6we?=\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nText.\n--b--\n',
  "code.py": "import os\n\n# Adds.\ndef add(a):\n    return a\n",
  "lines.jsonl": '{"id":"a","text":"Lions live."}\n{"id":"b","title":"Cat","text":"Purrs."}\n',
};

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
  '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Wind</text:p></draw:text-box></draw:frame></draw:page>';
const CHAPTER =
  '<h1>Night</h1><p>He sat.<a epub:type="noteref" href="#n">1</a></p><aside id="n">N.</aside>';

/** Makes a container of the XML of its main part. */
const CONTAINERS: Readonly<Record<string, [xml: string, make: (xml: string) => Buffer]>> = {
  "letter.docx": [XML, docx],
  "slides.pptx": [SLIDE, pptx],
  "prices.xlsx": [SHEET, (xml) => xlsx({ S: xml }, ["Name"])],
  "report.odt": [OPEN_TEXT, (xml) => openDocument("text", xml)],
  "prices.ods": [OPEN_TABLE, (xml) => openDocument("spreadsheet", xml)],
  "slides.odp": [OPEN_SLIDE, (xml) => openDocument("presentation", xml)],
  "book.epub": [CHAPTER, (xml) => epub("Faust", { "a.xhtml": xml })],
};

/** `folder` has a folder for each reader, which receives the file of its name. */
export function fuzzedDocuments(folder: string): FuzzedReader[] {
  const all = Object.values(TEXTS).map((text) => Buffer.from(text));
  const texts = Object.entries(TEXTS).map(([name, text]) =>
    reader(folder, name, (random) => packed(random, mutateBytes(random, Buffer.from(text), all))),
  );
  const containers = Object.entries(CONTAINERS).map(([name, [xml, make]]) => {
    const content = Buffer.from(xml);
    return reader(folder, name, (random) =>
      random.integer(2) === 0
        ? make(mutateBytes(random, content, [content]).toString())
        : mutateBytes(random, make(xml), [content]),
    );
  });
  return [
    ...texts,
    ...containers,
    reader(folder, "paper.pdf", (random) => mutateBytes(random, PDF, [PDF]), PDF_SHARE),
  ];
}

function reader(
  folder: string,
  name: string,
  make: (random: Random) => Buffer,
  share = SHARE,
): FuzzedReader {
  const file = join(folder, name, name);
  return {
    ...{ name, share },
    make: (random) => ({ [name]: make(random) }),
    async read() {
      for await (const _ of readDocuments(file, { tokenizer }));
    },
  };
}

/** One in eight is gzip, half of these damaged. */
function packed(random: Random, bytes: Buffer): Buffer {
  if (random.integer(8) > 0) return bytes;
  const whole = gzipSync(bytes);
  return random.integer(2) === 0 ? whole : mutateBytes(random, whole, [whole]);
}
