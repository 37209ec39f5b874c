/** Indexes that hold the states of their passages: answers, and the states after every change. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodeSequences, openRetrieverSession } from "../src/encoder/retriever-session.ts";
import {
  compactIndex,
  convertModel,
  deletePassages,
  indexInfo,
  mergeShards,
  type Passage,
  ReAtt,
  type Reply,
  readPassages,
  type TokenIndex,
  verifyIndex,
} from "../src/index.ts";
import { loadWeights } from "../src/model/load-weights.ts";
import { readManifest, writeManifest } from "../src/retrieval/index/format/manifest.ts";
import { passageIds } from "../src/text/tokens/prompts.ts";
import { rejects, temporary } from "./retrieval/support.ts";

const QUESTIONS = ["What is civil disobedience?", "What did Thoreau refuse to pay?"];
const PASSAGES: Passage[] = [];
for await (const passage of readPassages("data/squad/corpus.jsonl"))
  if (PASSAGES.push(passage) === 20) break;
const ADDED = PASSAGES.splice(14);

const folder = await temporary();
const at = (name: string): string => join(folder.path, name);
// Products of int8 round activations, which depend on the other passages of a run.
await convertModel("models/reatt-mini", { out: at("model"), precision: "fp32" });
const model = await ReAtt.load(at("model"));
const weights = await loadWeights(at("model"), model.config);
const encoder = await openRetrieverSession(model.config, { weights });
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
async function checkStates(index: TokenIndex, expected: readonly Passage[]): Promise<void> {
  const found: string[] = [];
  for await (const [ordinal, passage] of index.entries()) {
    found.push(passage.id);
    const ids = passageIds(model.tokenizer, passage, index.header.maxPassageTokens);
    const [states] = await encodeSequences(encoder, model.config, [ids], "reading");
    const [stored] = (await index.states([ordinal]))!;
    assert.is(stored!.tokens, ids.length, passage.id);
    const unpacked = stored!.unpack();
    for (let row = 0; row < ids.length; row++) {
      const own = rowOf(states!, row);
      const largest = Math.max(...own.map(Math.abs));
      const worst = Math.max(...rowOf(unpacked, row).map((x, i) => Math.abs(x - own[i]!)));
      // half a step of fp16, and the float32 rounding of a run with other passages
      assert.ok(worst <= largest / 2048 + 2e-5, `${passage.id}, token ${row}: ${worst}`);
    }
  }
  assert.equal(
    found,
    expected.map(({ id }) => id),
  );
}

const rowOf = (states: Float32Array, row: number): Float32Array =>
  states.subarray(row * model.config.modelSize, (row + 1) * model.config.modelSize);

async function sameAnswers(index: TokenIndex, other: TokenIndex, given = {}): Promise<void> {
  for (const question of QUESTIONS) {
    const options = { readTopK: 5, ...given };
    similar(
      await model.answer(question, index, options),
      await model.answer(question, other, options),
    );
  }
}

/** docs/experiments/speed.md has the differences that fp16 makes. */
const TOLERANCE = 0.002;

function similar(a: Reply<Passage>, b: Reply<Passage>): void {
  assert.equal([a.answer, a.tokenIds], [b.answer, b.tokenIds]);
  assert.ok(Math.abs(a.confidence - b.confidence) < TOLERANCE, `${a.confidence} ${b.confidence}`);
  for (const [i, { id, attention }] of a.passages.entries()) {
    assert.is(id, b.passages[i]!.id);
    assert.ok(Math.abs(attention - b.passages[i]!.attention) < TOLERANCE);
  }
}

test("an index holds the states of all tokens, within half a step of fp16", () =>
  checkStates(kept, PASSAGES));

test("answers equal those of an index without states, with both readers", async () => {
  await sameAnswers(kept, plain);
  await sameAnswers(kept, plain, { reader: "marginal", readTopK: 3 });
  await sameAnswers(kept, plain, { maxInputTokens: 60 }); // cut passages have other states
});

test("answers come from the stored states, also from a cache", async () => {
  const [question] = QUESTIONS;
  const filter = new Set([PASSAGES[0]!.id]);
  const asked = async (index: TokenIndex) =>
    (await model.answer(question!, index, { filter, hybrid: false })).signals!;
  const first = await asked(kept);
  assert.not.equal(first, await asked(plain)); // so that the next line says something
  assert.equal(await asked(kept), first);
});

test("read with passages of the caller is the same before and after", async () => {
  const [question] = QUESTIONS;
  const [first] = PASSAGES;
  const options = { filter: new Set([first!.id]), hybrid: false };
  const { signals } = await model.answer(question!, kept, options);
  assert.not.equal((await model.read(question!, [first!])).signals, signals);
});

test("states stay right when passages are added, replaced, deleted and joined", async () => {
  const directory = at("changed");
  await (await model.index(PASSAGES, { directory, keepStates: true })).close();
  const replaced = { ...ADDED[0]!, id: PASSAGES[2]!.id };
  await using added = await model.add([...ADDED, replaced], { directory });
  await deletePassages([PASSAGES[0]!.id, ADDED[1]!.id], { directory });
  await using deleted = await model.openIndex(directory);
  const left = [...PASSAGES.slice(1), ...ADDED].filter(
    ({ id }) => id !== replaced.id && id !== ADDED[1]!.id,
  );
  await checkStates(deleted, [...left, replaced]);
  await compactIndex(directory);
  assert.is(await added.refresh(), true);
  await checkStates(added, [...left, replaced]);
  assert.equal(await verifyIndex(directory), []);
});

test("states do not depend on bits, pruning and the length limit of the keys", async () => {
  for (const [name, options] of [
    ["bits", { bits: 4 }],
    ["pruned", { keepRatio: 0.5 }],
    ["short", { maxPassageTokens: 30 }],
  ] as const) {
    const directory = at(name);
    await using index = await model.index(PASSAGES, { directory, keepStates: true, ...options });
    await checkStates(index, PASSAGES);
    const { states, tokens } = await indexInfo(directory);
    assert.is(states!.bytesPerToken, 2 * model.config.modelSize + 4);
    assert.is(states!.tokens > tokens, name === "pruned");
    const forecast = await model.forecast(PASSAGES, { directory: at("none"), keepStates: true });
    const without = await model.forecast(PASSAGES, { directory: at("none") });
    assert.ok(forecast.bytes - without.bytes > 0.5 * states!.tokens * states!.bytesPerToken);
  }
});

test("shards with states are merged", async () => {
  const shards = [at("shard-0"), at("shard-1")];
  const passages = Array.from({ length: 520 }, (_, i) => ({ id: `${i}`, text: `Passage ${i}.` }));
  for (const [index, directory] of shards.entries()) {
    const shard = { index, count: 2 };
    await (await model.index(passages, { directory, shard, keepStates: true })).close();
  }
  await mergeShards(shards, { directory: at("merged") });
  await using merged = await model.openIndex(at("merged"));
  await checkStates(
    merged,
    passages.map((passage) => ({ title: "", ...passage })),
  );
});

test("sync extends an index with states by states", async () => {
  const [directory, documents] = [at("synchronised"), at("documents")];
  await mkdir(documents);
  await (await model.index(PASSAGES.slice(0, 1), { directory, keepStates: true })).close();
  await writeFile(join(documents, "lion.txt"), "The lion lives in Africa and in India.");
  await model.sync(documents, { directory });
  await using index = await model.openIndex(directory);
  const entries: Passage[] = [];
  for await (const [, passage] of index.entries()) entries.push(passage);
  assert.is(entries.length, 2);
  await checkStates(index, entries);
});

test("states of another model are not read, and not extended", async () => {
  const directory = at("stale");
  await (await model.index(PASSAGES, { directory, keepStates: true })).close();
  const manifest = await readManifest(directory);
  const { header } = manifest;
  const states = { ...header.states!, fingerprint: "other" };
  await writeManifest(directory, { ...manifest, header: { ...header, states } });
  const warnings: string[] = [];
  const listen = ({ message }: Error) => warnings.push(message);
  process.on("warning", listen);
  await using index = await model.openIndex(directory);
  await new Promise(setImmediate);
  process.off("warning", listen);
  assert.equal(warnings, [
    `${directory}: expected states that this model reads, got those of another; ` +
      "answers do not use them: build the index again with --keep-states",
  ]);
  const options = { filter: new Set([PASSAGES[0]!.id]), hybrid: false };
  const replies = [index, plain].map((own) => model.answer(QUESTIONS[0]!, own, options));
  const [stale, computed] = await Promise.all(replies);
  assert.equal(stale!.signals, computed!.signals);
  await rejects(
    model.add(ADDED, { directory }),
    /stale: expected passages encoded with states \{"fingerprint":"other","size":384\}, got /,
  );
});

test.run();
