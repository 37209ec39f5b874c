/** Readers of the user: `defineReader`, `checkReader`, and the option `readers`. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  checkReader,
  type Document,
  type DocumentReader,
  defineReader,
  InputError,
  type SourceFile,
} from "../../src/documents/index.ts";
import { readAll } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-own-"));
test.after(() => rmSync(folder, { recursive: true }));

/** Questions and answers, one a line: `Who?|Ada.` */
const quiz = defineReader({
  endings: ["quiz"],
  async *read(file) {
    for (const [i, line] of (await file.text()).split("\n").entries()) {
      const [title = "", text] = line.split("|");
      if (line === "") continue;
      if (text === undefined)
        throw new InputError({
          where: `${file.path}:${i + 1}`,
          expected: "a question and an answer",
          got: "no |",
          remedy: "add one",
        });
      if (text !== "") yield { record: `${i + 1}`, title, blocks: [{ text, headings: [] }] };
    }
  },
  sample: "Who?|Ada.\nWhen?|In 1843.\n",
});

const shouting = defineReader({
  endings: ["txt", "jsonl"],
  async *read(file) {
    yield { title: "", blocks: [{ text: (await file.text()).toUpperCase(), headings: [] }] };
  },
  sample: () => Buffer.from("a"),
});

const write = (name: string, contents: string | Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, contents);
  return path;
};

/** The message of the `InputError` that a promise ends in. */
async function problemOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((thrown: unknown) => thrown);
  assert.instance(error, InputError, `${error}`);
  return (error as Error).message;
}

test("files of a format of the user are read in a folder and alone, plain and gzip", async () => {
  write("a.quiz", "Who?|Ada.\n");
  write("b.quiz.gz", gzipSync("When?|In 1843.\n"));
  const { passages, skipped } = await readAll(folder, { readers: [quiz] });
  assert.equal(
    passages.map(({ id, title, text }) => [id, title, text]),
    [
      ["a.quiz#1", "Who?", "Ada."],
      ["b.quiz.gz#1", "When?", "In 1843."],
    ],
  );
  assert.equal(skipped, {});
  const alone = await readAll(join(folder, "a.quiz"), { readers: [quiz] });
  assert.equal(
    alone.passages.map(({ text }) => text),
    ["Ada."],
  );
});

test("a reader of the user comes before that of the package, also for JSON Lines", async () => {
  const text = write("c.txt", "quiet");
  const lines = write("d.jsonl", '{"id":"a","text":"quiet"}');
  for (const [file, expected] of [
    [text, "QUIET"],
    [lines, '{"ID":"A","TEXT":"QUIET"}'],
  ] as const) {
    const { passages } = await readAll(file, { readers: [quiz, shouting] });
    assert.equal(
      passages.map(({ text }) => text),
      [expected],
    );
  }
});

test("messages name the endings of the user, the damage of a file and a defect of a reader", async () => {
  const readers = [quiz];
  const other = write("e.zzz", "?");
  rmSync(join(folder, "a.quiz"));
  const { skipped } = await readAll(folder, { readers });
  assert.match(skipped["e.zzz"]!, /expected a document \(\.quiz \.txt \.text /);
  rmSync(other);
  const damaged = write("f.quiz", "Who?\n");
  assert.match(
    await problemOf(readAll(damaged, { readers })),
    /f\.quiz:1: expected a question and an answer, got no \|; add one/,
  );
  const broken = { ...quiz, read: () => JSON.parse("{") };
  assert.match(
    await problemOf(readAll(damaged, { readers: [broken] })),
    /got a defect of its reader: SyntaxError: .*; correct the reader: checkReader tests it$/,
  );
});

test("the example of the guide is that of defineReader, which is run", () => {
  const [, guide = ""] = /const subtitles = ([\s\S]*?\n\}\);)/.exec(
    readFileSync("docs/DOCUMENTS.md", "utf8"),
  )!;
  const source = readFileSync("src/documents/define-reader.ts", "utf8").replace(/^ \* ?/gm, "");
  assert.ok(source.includes(`const subtitles = ${guide}`));
});

test("what is no reader is refused", async () => {
  for (const readers of [[{}], [undefined], quiz, [() => {}]] as unknown as DocumentReader[][])
    assert.match(await problemOf(readAll(folder, { readers })), /readers.*: expected /);
  for (const [endings, got] of [
    [[], "none"],
    [[".quiz"], "'.quiz'"],
    [["quiz", "QUIZ"], "'QUIZ'"],
    [[""], "''"],
  ] as const)
    assert.throws(
      () => defineReader({ ...quiz, endings }),
      (error: Error) => error instanceof InputError && error.message.includes(`got ${got};`),
    );
});

test("a reader that keeps its promises passes", async () => {
  await checkReader(quiz);
  await checkReader(shouting);
});

const BROKEN: Readonly<Record<string, [changes: Partial<DocumentReader>, message: RegExp]>> = {
  "throws for its sample": [
    { sample: "no bar" },
    /sample\.quiz:1: expected a question and an answer/,
  ],
  "gives no text": [{ sample: "\n" }, /its sample: expected documents with text, got none/],
  "gives an empty block": [
    { read: () => [{ title: "", blocks: [{ text: "", headings: [] }] }] },
    /its sample: expected blocks with a text, got an empty block/,
  ],
  "changes from call to call": [
    {
      read: (
        (calls = 0) =>
        (): Document[] => [{ title: "", blocks: [{ text: `${calls++}`, headings: [] }] }]
      )(),
    },
    /its sample, read again: expected the same documents, got others/,
  ],
  "throws another error for an empty file": [
    {
      async *read(file: SourceFile) {
        const [first] = JSON.parse(`[${await file.text()}]`);
        yield { title: "", blocks: [{ text: first.text, headings: [] }] };
      },
      sample: '{"text": "a"}',
    },
    /the reader of \.quiz, an empty file: expected documents or an InputError, got TypeError/,
  ],
  "throws another error for a file that ends too early": [
    {
      async *read(file: SourceFile) {
        const text = await file.text();
        if (text !== "") yield { title: "", blocks: [{ text: JSON.parse(text), headings: [] }] };
      },
      sample: '"Ada"',
    },
    /its sample up to byte 1: expected documents or an InputError, got SyntaxError/,
  ],
};

for (const [what, [changes, message]] of Object.entries(BROKEN))
  test(`a reader that ${what} fails`, async () => {
    assert.match(await problemOf(checkReader({ ...quiz, ...changes })), message);
  });

test.run();
