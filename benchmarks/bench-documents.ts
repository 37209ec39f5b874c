/**
 * Times the readers of documents: 3,000 mixed files, 60 MB of JSON Lines and 300 pages of PDF.
 *
 *     npm run bench:documents -- [SOURCE]
 *
 * SOURCE is the folder `src` of another version, to compare with. The Markdown files are those of
 * the packages that are installed.
 */

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { docx, pdfOf, wordParagraph } from "../test/documents/support.ts";

const FILES = 3_000;
const JSON_BYTES = 60e6;
const PAGES = 300;
const WORDS = "the lion lives in Africa and sleeps in the shade of a tree until night falls".split(
  " ",
);

const source = resolve(process.argv[2] ?? "src");
const load = (path: string) => import(pathToFileURL(join(source, path)).href);
const { readDocuments } = await load("documents/read-documents.ts");
const { loadTokenizer } = await load("text/tokenizer.ts");
const tokenizer = await loadTokenizer("models/reatt-mini/spiece.model");

const sentence = (seed: number): string =>
  Array.from({ length: 12 }, (_, i) => WORDS[(seed * 7 + i * i) % WORDS.length]).join(" ");
const paragraph = (seed: number): string =>
  Array.from({ length: 5 }, (_, i) => `${sentence(seed + i)}.`).join(" ");

async function markdownFiles(): Promise<string[]> {
  const texts: string[] = [];
  for (const name of await readdir("node_modules", { recursive: true })) {
    if (!/\.md$/.test(name) || texts.length === 600) continue;
    const text = await readFile(join("node_modules", name), "utf8");
    if (text.length > 1_000 && text.length < 100_000) texts.push(text);
  }
  return texts;
}

async function writeMixed(folder: string): Promise<void> {
  const markdown = await markdownFiles();
  await mkdir(folder);
  for (let i = 0; i < FILES; i++) {
    const [a, b] = [paragraph(i), paragraph(i + 1)];
    const kinds: readonly [ending: string, contents: string | Buffer][] = [
      ["md", markdown[i % markdown.length]!],
      ["html", `<title>${i}</title><main><h1>${i}</h1><p>${a}</p><ul><li>${b}<li>x</ul></main>`],
      ["txt", `${a}\n\n${b}\n`],
      ["csv", `id,text,year\n1,${a},${i}\n2,${b},${i}\n`],
      ["docx", docx(wordParagraph(`Part ${i}`, "Heading1") + wordParagraph(a) + wordParagraph(b))],
    ];
    const [ending, contents] = kinds[i % kinds.length]!;
    await writeFile(join(folder, `${i}.${ending}`), contents);
  }
}

function jsonLines(): string {
  const lines: string[] = [];
  for (let i = 0, length = 0; length < JSON_BYTES; i++) {
    const line = JSON.stringify({ id: `${i}`, title: sentence(i), text: paragraph(i), year: i });
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join("\n")}\n`;
}

const pages = (): Buffer =>
  pdfOf(
    Array.from({ length: PAGES }, (_, page) => {
      const lines = Array.from(
        { length: 40 },
        (_, i) => `(${sentence(40 * page + i)}) Tj 0 -14 Td`,
      );
      return `BT /F1 11 Tf 72 740 Td ${lines.join(" ")} ET`;
    }),
  );

const folder = await mkdtemp(join(tmpdir(), "reatt-bench-"));
try {
  await writeMixed(join(folder, "mixed"));
  await mkdir(join(folder, "lines"));
  await writeFile(join(folder, "lines", "a.jsonl"), jsonLines());
  await writeFile(join(folder, "pages.pdf"), pages());
  for (const name of ["mixed", "lines", "pages.pdf"]) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    let passages = 0;
    const options = { tokenizer, onSkip: () => {} };
    try {
      for await (const _ of readDocuments(join(folder, name), options)) passages++;
    } catch (error) {
      process.stdout.write(`${name}: ${error}\n`);
      continue;
    }
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (milliseconds: number) => `${(milliseconds / 1_000).toFixed(1)} s`;
    process.stdout.write(
      `${name}: ${passages} passages, ${seconds(performance.now() - start)}, ` +
        `processor ${seconds((user + system) / 1_000)}, memory ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB\n`,
    );
  }
} finally {
  await rm(folder, { recursive: true });
}
