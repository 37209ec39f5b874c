/** The readers of documents for the fuzz campaign, one for each format. */

import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readDocuments } from "../../src/documents/read-documents.ts";
import type { Random } from "../../src/math/random.ts";
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

/** `folder` has a folder for each reader, which receives the file of its name. */
export function fuzzedDocuments(folder: string): FuzzedReader[] {
  const all = Object.values(TEXTS).map((text) => Buffer.from(text));
  const texts = Object.entries(TEXTS).map(([name, text]) =>
    reader(folder, name, (random) => packed(random, mutateBytes(random, Buffer.from(text), all))),
  );
  const word = Buffer.from(XML);
  return [
    ...texts,
    reader(folder, "letter.docx", (random) =>
      random.integer(2) === 0
        ? docx(mutateBytes(random, word, [word]).toString())
        : mutateBytes(random, docx(XML), [word]),
    ),
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
