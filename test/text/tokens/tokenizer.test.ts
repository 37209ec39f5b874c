import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const FILE = "test/fixtures/t5/spiece.model";
const tokenizer = await loadTokenizer(FILE);

test("sentinels have the last ids, and the text beside them is encoded separately", () => {
  assert.is(tokenizer.vocabularySize, 32_100);
  assert.is(tokenizer.eosId, 1);
  assert.equal(tokenizer.encode("<extra_id_0><extra_id_99>"), [32_099, 32_000]);
  const [paris, is] = [tokenizer.encode("Paris"), tokenizer.encode("is.")];
  for (const value of [
    "Paris <extra_id_12> is.",
    "Paris<extra_id_12>is.",
    "Paris\n <extra_id_12>  is.",
  ]) {
    assert.equal(tokenizer.encode(value), [...paris, 32_087, ...is]);
  }
  assert.ok(tokenizer.encode("<extra_id_100> <extra_id_07>").every((id) => id < 32_000));
});

test("any text has ids of the vocabulary", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
      const ids = tokenizer.encode(`${text}\ud800<extra_id_7>`);
      assert.ok(ids.every((id) => id >= 0 && id < tokenizer.vocabularySize));
      assert.is(ids.at(-1), 32_092);
    }),
  );
});

test("decoding skips padding, </s> and ids beyond the vocabulary", () => {
  const ids = tokenizer.encode("Paris is a city.");
  assert.is(
    tokenizer.decode([0, 32_099, ...ids, 32_098, 1, 0, 32_100, 32_127]),
    "<extra_id_0> Paris is a city. <extra_id_1>",
  );
  assert.is(tokenizer.decode([]), "");
});

test("control tokens in a text are text", () => {
  const ids = tokenizer.encode("</s><pad>");
  assert.not(ids.includes(tokenizer.eosId) || ids.includes(0));
});

test("the process keeps its own error handlers and gets no others", async () => {
  const own = () => {};
  process.on("unhandledRejection", own);
  await loadTokenizer(FILE);
  assert.ok(process.rawListeners("unhandledRejection").includes(own));
  assert.is(process.listenerCount("unhandledRejection"), 1);
  assert.is(process.listenerCount("uncaughtException"), 0);
  process.off("unhandledRejection", own);
});

test("a text that needs a token beyond the model's embedding is rejected", async () => {
  const small = await loadTokenizer(FILE, { vocabularySize: 5000 });
  const common = "question: the ship";
  assert.equal(small.encode(common), tokenizer.encode(common));
  for (const text of ["an ostrich", "<extra_id_0>"]) {
    const beyond = tokenizer.encode(text).find((id) => id >= 5000)!;
    const refusal = `which has 5000, got token ${beyond}, `;
    assert.throws(
      () => small.encode(text),
      (error: Error) => error instanceof InputError && error.message.includes(refusal),
    );
  }
});

test("a model whose table of character replacements points outside of it is rejected", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-tokenizer-"));
  const file = join(folder, "spiece.model");
  const whole = readFileSync(FILE);
  const table = 554_111; // position of the table: bytes of the trie, trie, replacements
  for (const [position, value] of [
    [table, 0xff_ff_ff_f0],
    [table + 4, 0x7f_ff_fc_00],
    [table + 4 + 4 * 1_000, 0xff_ff_ff_ff],
  ] as const) {
    const modified = Buffer.from(whole);
    modified.writeUInt32LE(value, position);
    writeFileSync(file, modified);
    await loadTokenizer(file).then(
      () => assert.unreachable(),
      (error: unknown) => {
        assert.instance(error, InputError);
        assert.match((error as Error).message, /got a damaged normaliser; download/);
      },
    );
  }
  const long = Buffer.from(whole);
  long.fill("x", table + 4 + 177_152, table + 4 + 177_152 + 300); // the first replacements
  writeFileSync(file, long);
  await loadTokenizer(file).then(
    () => assert.unreachable(),
    (error: unknown) => assert.instance(error, InputError),
  );
  await rm(folder, { recursive: true });
});

test("without address space for WebAssembly, one line names the limit", async () => {
  const { instantiate } = WebAssembly;
  const { warn } = console;
  console.warn = () => {};
  WebAssembly.instantiate = async () => {
    throw new RangeError("WebAssembly.instantiate(): Out of memory: Cannot allocate Wasm memory");
  };
  try {
    const error = await loadTokenizer(FILE).catch((caught: unknown) => caught);
    assert.instance(error, InputError);
    assert.match((error as Error).message, /expected address space for WebAssembly, .*ulimit -v/);
  } finally {
    Object.assign(WebAssembly, { instantiate });
    Object.assign(console, { warn });
  }
  assert.is(process.listenerCount("unhandledRejection"), 0);
});

test("a model that is missing, damaged or of another kind is rejected", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-tokenizer-"));
  const whole = readFileSync(FILE);
  const file = join(folder, "spiece.model");
  const refused = async (bytes: Uint8Array) => {
    writeFileSync(file, bytes);
    await loadTokenizer(file).then(
      () => assert.unreachable(),
      (error: unknown) => assert.instance(error, InputError),
    );
  };
  for (const size of [0, 1, 100, 40_000, whole.length / 2, whole.length - 300, whole.length - 1]) {
    await refused(whole.subarray(0, size));
  }
  await refused(Buffer.from('{"model": "no"}\n'));
  await rm(file);
  await loadTokenizer(file).then(
    () => assert.unreachable(),
    (error: unknown) => assert.instance(error, InputError),
  );
  await rm(folder, { recursive: true });
});

test.run();
