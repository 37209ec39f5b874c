/** Indexes that hold the states of their passages: answers, and what happens to the states. */

import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodeSequences, openRetrieverSession } from "../src/encoder/retriever-session.ts";
import {
  compactIndex,
  deletePassages,
  indexInfo,
  mergeShards,
  type Passage,
  ReAtt,
  type Reply,
  type TokenIndex,
  verifyIndex,
} from "../src/index.ts";
import { loadWeights } from "../src/model/load-weights.ts";
import { passageIds } from "../src/text/prompts.ts";
import { readPassages } from "../src/text/read-passages.ts";
import { rejects, temporary } from "./retrieval/support.ts";
import { copyModel } from "./support/model-copy.ts";

const MODEL = "models/reatt-mini";
const QUESTIONS = [
  "What is civil disobedience?",
  "Who resisted the laws of Creon?",
  "What did Thoreau refuse to pay?",
];
const PASSAGES: Passage[] = [];
for await (const passage of readPassages("data/squad/corpus.jsonl"))
  if (PASSAGES.push(passage) === 24) break;

const model = await ReAtt.load(MODEL);
const weights = await loadWeights(MODEL, model.config);
const encoder = await openRetrieverSession(model.config, { weights });
const folder = await temporary();
const at = (name: string): string => join(folder.path, name);
const plain = await model.index(PASSAGES, { directory: at("plain") });
const kept = await model.index(PASSAGES, { directory: at("kept"), keepStates: true });

test.after(async () => {
  await plain.close();
  await kept.close();
  await encoder[Symbol.asyncDispose]();
  await model.close();
  await folder[Symbol.asyncDispose]();
});

/** Compares the stored states with those that the lower layers make of each passage alone. */
async function checkStates(index: TokenIndex, expected: number, tokens = 512): Promise<void> {
  let count = 0;
  for await (const [ordinal, passage] of index.entries()) {
    count++;
    const ids = passageIds(model.tokenizer, passage, tokens);
    const [states] = await encodeSequences(encoder, model.config, [ids], "reading");
    const [stored] = (await index.states([ordinal]))!;
    assert.is(stored!.tokens, ids.length, passage.id);
    const unpacked = stored!.unpack();
    for (let row = 0; row < ids.length; row++) {
      const own = rowOf(states!, row);
      const step = Math.max(...own.map(Math.abs)) / 127;
      const worst = Math.max(...rowOf(unpacked, row).map((x, i) => Math.abs(x - own[i]!)));
      // half a step, and the rounding of another batch
      assert.ok(worst <= step / 2 + 1e-4, `${passage.id}, token ${row}: ${worst} of ${step}`);
    }
  }
  assert.is(count, expected);
}

const rowOf = (states: Float32Array, row: number): Float32Array =>
  states.subarray(row * model.config.modelSize, (row + 1) * model.config.modelSize);

async function sameAnswers(index: TokenIndex, other: TokenIndex, given = {}): Promise<void> {
  for (const question of QUESTIONS) {
    const [a, b] = await Promise.all(
      [index, other].map((own) => model.answer(question, own, { topK: 5, ...given })),
    );
    similar(a!, b!);
  }
}

/** The tolerance is that of 8 bits: docs/experiments/speed.md. */
function similar(a: Reply<Passage>, b: Reply<Passage>): void {
  assert.equal([a.answer, a.tokenIds], [b.answer, b.tokenIds]);
  assert.ok(Math.abs(a.confidence - b.confidence) < 0.03, `${a.confidence} ${b.confidence}`);
  for (const [i, { id, attention }] of a.passages.entries()) {
    assert.is(id, b.passages[i]!.id);
    assert.ok(Math.abs(attention - b.passages[i]!.attention) < 0.03);
  }
}

test("an index holds the states of all tokens, within half a step", () =>
  checkStates(kept, PASSAGES.length));

test("answers equal those of an index without states, with both readers", async () => {
  await sameAnswers(kept, plain);
  await sameAnswers(kept, plain, { reader: "marginal" });
  await sameAnswers(kept, plain, { beams: 3, extractive: false });
  for (const length of [40, 80]) await sameAnswers(kept, plain, { maxInputTokens: length });
});

test("an answer reads the stored states, and no passage runs through the lower layers", async () => {
  await using fresh = await ReAtt.load(MODEL);
  const reading: string[] = [];
  const { encode } = fresh.tokenizer;
  await using index = await fresh.openIndex(at("kept"));
  const [hit] = await fresh.retrieve(QUESTIONS[0]!, index, { topK: 1 });
  const reply = await fresh.answer(QUESTIONS[0]!, index, { topK: 1, hybrid: false });
  assert.is(reply.passages[0]!.id, hit!.id);
  assert.is(fresh.tokenizer.encode, encode);
  assert.equal(reading, []);
});

test("read with passages of the caller does not use what was read from an index", async () => {
  const [first] = PASSAGES;
  const exact = await model.read(QUESTIONS[0]!, [first!]);
  const filter = new Set([first!.id]);
  await model.answer(QUESTIONS[0]!, kept, { filter });
  const again = await model.read(QUESTIONS[0]!, [first!]);
  assert.is(again.confidence, exact.confidence);
});

test.run();
