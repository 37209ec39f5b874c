/** `tokenizer.json` as a SentencePiece model, beside the ids of Hugging Face's tokenizers. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { sentencePieceModel } from "../../../src/text/tokens/tokenizer-json.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const FIXTURE = "test/fixtures/tokenizer-json";
const folder = temporaryFolder();
const json = JSON.parse(readFileSync(`${FIXTURE}/tokenizer.json`, "utf8"));
const expected: { text: string; ids: number[] }[] = JSON.parse(
  readFileSync(`${FIXTURE}/expected.json`, "utf8"),
);

/** The tokenizer of a changed `tokenizer.json`. */
async function loaded(name: string, changes: object) {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ ...json, ...changes }));
  const model = join(folder, `${name}.model`);
  writeFileSync(model, await sentencePieceModel(file));
  return loadTokenizer(model);
}

test("it gives the ids of Hugging Face's tokenizers", async () => {
  const tokenizer = await loaded("plain", {});
  assert.equal([tokenizer.vocabularySize, tokenizer.eosId, tokenizer.unknownId], [121, 1, 2]);
  for (const { text, ids } of expected) assert.equal(tokenizer.encode(text), ids, text);
  assert.is(tokenizer.decode([5, 10, 9, 19, 1]), "the café!");
});

test("the table of replacements is kept", async () => {
  const table = Buffer.from(charsmapOf(readFileSync("test/fixtures/t5/spiece.model")));
  const precompiled = { type: "Precompiled", precompiled_charsmap: table.toString("base64") };
  const spaces = { type: "Replace", pattern: { Regex: " {2,}" }, content: " " };
  for (const normalizer of [
    precompiled,
    { type: "Sequence", normalizers: [precompiled, spaces] },
  ]) {
    const tokenizer = await loaded("table", { normalizer });
    assert.equal(tokenizer.encode("the ﬁ"), tokenizer.encode("the fi")); // a ligature
    assert.equal(tokenizer.encode("the fi"), [5, 3, 11]);
  }
});

test("another kind of tokenizer is refused, with what to do", async () => {
  const refuses = async (changes: object, message: RegExp): Promise<void> => {
    const file = join(folder, "refused.json");
    writeFileSync(file, JSON.stringify({ ...json, ...changes }));
    await refused(sentencePieceModel(file), message);
  };
  await refuses(
    { model: { type: "BPE", vocab: {}, merges: [] } },
    /refused\.json: model\.type: expected a Unigram model as of T5, .*use the spiece\.model of/,
  );
  await refuses({ normalizer: { type: "Lowercase" } }, /type Precompiled, got "Lowercase"/);
  const added = [{ id: 7, content: "<extra_id_0>", special: true }];
  await refuses({ added_tokens: added }, /expected <extra_id_0> as token 120, got token 7/);
});

test("a folder with tokenizer.json alone says how it becomes readable", async () => {
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(json));
  await refused(
    loadTokenizer(join(folder, "spiece.model")),
    /spiece\.model: expected .*, got only tokenizer\.json; make it of that file: reatt convert/,
  );
});

/** Field 2 of field 3. */
function charsmapOf(bytes: Uint8Array): Uint8Array {
  const fieldOf = (message: Uint8Array, wanted: number): Uint8Array => {
    const reader = new BinaryReader(message);
    for (;;) {
      const [number, type] = reader.tag();
      if (number === wanted) return reader.bytes();
      reader.skip(type, number);
    }
  };
  return fieldOf(fieldOf(bytes, 3), 2);
}

test.run();
