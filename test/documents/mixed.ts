/** A folder of documents of every format, as people have them. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { docx, pdf, wordParagraph } from "./support.ts";

/** One passage each, except for the last three, which are skipped. */
const MIXED_DOCUMENTS: Readonly<Record<string, string | Buffer>> = {
  "steam.md": "# Steam engine\n\n## History\n\nIn 1781 James Watt patented a steam engine.\n",
  "rivers.html": "<title>Rhine</title><p>The Rhine flows from the Alps to the North Sea.</p>",
  "animals.csv": "id,title,text\n1,Lion,The lion lives in Africa and in India.\n",
  "cats.docx": docx(wordParagraph("Cats purr and sleep up to twenty hours a day.")),
  "oxygen.pdf": pdf("Oxygen is a chemical element with the symbol O."),
  "notes.txt.gz": gzipSync("The committee meets on the first Monday of every month.\n"),
  "towns.jsonl": '{"id":"bonn","title":"Bonn","text":"Bonn lies on the Rhine.","country":"DE"}\n',
  "logo.png": Buffer.from("\x89PNG\0"),
  "memory.txt": Buffer.from("dump\0\0\0"),
  "broken.json": "{",
};

export async function writeMixedDocuments(folder: string): Promise<void> {
  await mkdir(folder);
  for (const [name, contents] of Object.entries(MIXED_DOCUMENTS))
    await writeFile(join(folder, name), contents);
}
