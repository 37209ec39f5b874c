import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { SentencePieceProcessor } from "sentencepiece-js";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSentencePiece } from "../../../src/text/tokens/sentencepiece.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const FILE = "models/reatt-mini/spiece.model";
const model = await readFile(FILE);
const folder = await mkdtemp(join(tmpdir(), "reatt-sentencepiece-"));
process.env.XDG_CACHE_HOME = folder;
const kept = join(folder, "reatt", "tokenizers");
const vocabulary = { pieces: 32_000, eosId: 1, unknownId: 2 };
const text = "question: Who built the Élysée, and ﬁne 機関 engines, in 1718?";

test.before.each(() => rm(kept, { recursive: true, force: true }));
test.after(() => rm(folder, { recursive: true }));

/** What sentencepiece-js makes of the file by itself. */
const own = new SentencePieceProcessor();
await own.load(FILE);

async function open(bytes: Uint8Array = model) {
  let isNew = false;
  const opened = await openSentencePiece(FILE, bytes, () => {
    isNew = true;
    return vocabulary;
  });
  return { ...opened, isNew };
}

/** The model with another score of a piece, which follows the piece and a byte with its field. */
function withScore(piece: string, score: number): Buffer {
  const bytes = Buffer.from(model);
  bytes.writeFloatLE(score, bytes.indexOf(piece) + Buffer.byteLength(piece) + 1);
  return bytes;
}

const onlyFile = async (): Promise<string> => {
  const names = await readdir(kept);
  assert.is(names.length, 1);
  return join(kept, names[0]!);
};

test("a model that was loaded before gives the same tokens, and is not loaded again", async () => {
  assert.ok((await open()).isNew);
  const again = await open();
  assert.not(again.isNew);
  assert.equal(again.vocabulary, vocabulary);
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "grapheme" }), fc.lorem()), (some) => {
      const ids = own.encodeIds(some);
      assert.equal(again.encodeIds(some), ids);
      assert.is(again.decodeIds(ids), own.decodeIds(ids));
    }),
  );
});

test("the tokenizer is the same from a cache", async () => {
  const [first, again] = [await loadTokenizer(FILE), await loadTokenizer(FILE)];
  for (const { vocabularySize, eosId, unknownId, isUncased } of [first, again])
    assert.equal(
      { vocabularySize, eosId, unknownId, isUncased },
      { vocabularySize: 32_100, eosId: 1, unknownId: 2, isUncased: true },
    );
  assert.equal(again.encode(text), first.encode(text));
  assert.is(again.decode(first.encode(text)), first.decode(first.encode(text)));
});

test("texts of one process stay in it", async () => {
  const [a, b] = [await open(), await open()];
  const ids = a.encodeIds(text);
  for (let i = 0; i < 100; i++) b.encodeIds(`${text} ${i}`.repeat(i));
  assert.equal(a.encodeIds(text), ids);
  assert.equal((await open()).encodeIds(text), ids);
});

test("what is damaged or cut off is not used, and replaced", async () => {
  const ids = (await open()).encodeIds(text);
  const file = await onlyFile();
  const whole = await readFile(file);
  for (const at of [0, 40, 100_000, whole.length - 1]) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 1;
    for (const bytes of [damaged, whole.subarray(0, at)]) {
      await writeFile(file, bytes);
      const opened = await open();
      assert.ok(opened.isNew, `${at}`);
      assert.equal(opened.encodeIds(text), ids);
      assert.ok((await readFile(file)).equals(whole));
    }
  }
});

test("another model has its own", async () => {
  const ids = (await open()).encodeIds(text);
  const other = withScore("▁engines", -1e6);
  for (let i = 0; i < 2; i++) {
    const opened = await open(other);
    assert.is(opened.isNew, i === 0);
    assert.is.not(String(opened.encodeIds(text)), String(ids));
  }
  assert.not((await open()).isNew);
});

test("a model that SentencePiece rejects is not kept", async () => {
  const half = model.subarray(0, model.length / 2);
  const error = await open(half).catch((caught: unknown) => caught);
  assert.match((error as Error).message, /expected T5's SentencePiece model/);
  assert.equal(await readdir(kept).catch(() => []), []);
});

test("the last four are kept", async () => {
  for (let i = 0; i < 6; i++) {
    await open(withScore("▁engines", -20 - i));
  }
  assert.is((await readdir(kept)).length, 4);
});

test("without a cache that can be written, a model is loaded each time", async () => {
  await mkdir(dirname(kept), { recursive: true });
  await writeFile(kept, "a file in place of the folder");
  for (let i = 0; i < 2; i++) {
    const opened = await open();
    assert.ok(opened.isNew);
    assert.equal(opened.encodeIds(text), own.encodeIds(text));
  }
  await rm(kept);
});

test.run();
