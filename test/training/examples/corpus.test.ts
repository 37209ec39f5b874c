import { readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "corpus.jsonl");
const passages: Passage[] = ["a", "b", "c", "d"].map((id) => ({
  id,
  title: `title ${id}`,
  text: `text ${id}`,
}));
const linesOf = (some: readonly object[]): string =>
  some.map((passage) => `${JSON.stringify(passage)}\n`).join("");
const write = (some: readonly Passage[]): void => writeFileSync(file, linesOf(some));

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test("ids, digest, and the passages with given ids", async () => {
  write(passages);
  await using corpus = await openCorpus(file);
  assert.equal([corpus.ids, corpus.size], [["a", "b", "c", "d"], 4]);
  // The digest that checkpoints hold: SHA-256 of the JSON of [id, title, text] of each passage.
  assert.is(corpus.digest, "63b8fcb1589f205fcb6c946eb1ae93b4167fa94ffce6e39179ae43815132e179");
  const picked = await corpus.pick(["c", "a", "c"]);
  assert.equal(
    [...picked],
    [
      ["a", passages[0]],
      ["c", passages[2]],
    ],
  );
});

test("random access equals the stream, for a plain and a gzip file", async () => {
  const text = fc.string({ unit: "binary", maxLength: 20 }).map((part) => part.repeat(99));
  const end = fc.constantFrom("\n", "\r\n", "\n\n  \n", "\n".repeat(5_000));
  const record = fc.record({ title: text, text, ignored: text });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(record, end), { minLength: 1, maxLength: 30 }),
      fc.boolean(),
      fc.boolean(),
      fc.func(fc.boolean()),
      async (records, gzip, hasMark, accept) => {
        const lines = records.map(
          ([fields, ending], i) => `${JSON.stringify({ _id: `${i}`, ...fields })}${ending}`,
        );
        const content = `${hasMark ? "\ufeff" : ""}${lines.join("")}`.trimEnd();
        writeFileSync(file, gzip ? gzipSync(content) : content);
        const stream = await all(readPassages(file));
        await using corpus = await openCorpus(file);
        assert.equal(await all(corpus.passages()), stream);
        const some = stream.filter(({ id }) => accept(id));
        assert.equal(await all(corpus.passages(accept)), some);
        const ids = some.map(({ id }) => id);
        assert.equal([...(await corpus.pick(ids)).values()], some);
      },
    ),
    { numRuns: 60 },
  );
});

test("the copy of a gzip file leaves no file behind", async () => {
  const copies = (): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith("reatt-corpus-copy-"));
  const before = copies();
  writeFileSync(file, gzipSync(linesOf(passages)));
  const corpus = await openCorpus(file);
  await corpus[Symbol.asyncDispose]();
  assert.equal(copies(), before);
});

test("BM25 is built once", async () => {
  write(passages);
  await using corpus = await openCorpus(file);
  const [first, second] = await Promise.all([corpus.bm25(), corpus.bm25()]);
  assert.is(first, second);
  assert.equal([first.size, first.search("text b", 4)[0]!.id], [4, "b"]);
});

test("a passage that the corpus does not have", async () => {
  write(passages);
  await using corpus = await openCorpus(file);
  await refused(
    corpus.pick(["a", "x", "y"]),
    /corpus.jsonl: expected 3 passages that training needs, got 2 of them not there, the first 'x'; /,
  );
});

test("a file that changed since it was opened", async () => {
  const other = passages.map((passage) => (passage.id === "b" ? { ...passage, id: "e" } : passage));
  for (const gzip of [false, true])
    for (const changed of [passages.slice(1), passages.toReversed(), other]) {
      const content = linesOf(passages);
      writeFileSync(file, gzip ? gzipSync(content) : content);
      await using corpus = await openCorpus(file);
      await new Promise((resolve) => setTimeout(resolve, 5)); // the file system's clock ticks
      writeFileSync(file, gzip ? gzipSync(linesOf(changed)) : linesOf(changed));
      const message = /expected the corpus that the run began with, got another/;
      await refused(corpus.pick(["c"]), message);
      await refused(all(corpus.passages()), message);
      await refused(corpus.bm25(), message);
    }
});

test("a file that cannot be read", async () => {
  await refused(
    openCorpus(`${file}.none`),
    /corpus.jsonl.none: expected a JSON Lines file, got .*no such file/,
  );
  await refused(openCorpus(tmpdir()), /expected a JSON Lines file, got no regular file/);
});

test("an aborted run does not read on", async () => {
  write(passages);
  const abort = new AbortController();
  await using corpus = await openCorpus(file, { signal: abort.signal });
  abort.abort(new Error("stop"));
  const error = await all(corpus.passages()).catch((reason: Error) => reason);
  assert.is((error as Error).message, "stop");
});

test.run();
