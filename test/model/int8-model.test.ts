/** The embedded model in int8 against itself in float32. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { bytesOf } from "../../src/checkpoints/values.ts";
import { mean } from "../../src/math/mean.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { convertModel } from "../../src/model/convert.ts";
import { openStored } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { type Hit, hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";

const EMBEDDED = "models/reatt-mini";
const PASSAGES = 60;
const QUESTIONS = 20;

const parent = temporaryFolder();
const [fp32, folder] = [join(parent, "fp32"), join(parent, "int8")];
await convertModel(EMBEDDED, { out: fp32, precision: "fp32" });
await convertModel(fp32, { out: folder, precision: "int8" });

const passages: Passage[] = [];
for await (const passage of readPassages("data/squad/corpus.jsonl"))
  if (passages.push(passage) === PASSAGES) break;

/** Words from the middle of some passages. */
const questions = passages
  .filter((_, i) => i % (PASSAGES / QUESTIONS) === 0)
  .map(({ text }) => text.split(" ").slice(4, 16).join(" "));

async function resultsOf(name: string) {
  await using model = await ReAtt.load(name, { threads: 1 });
  const directory = join(parent, name.replaceAll("/", "-"));
  await using index = await model.index(passages, { directory });
  const found = await hitLists(model.retrieve(questions, index, { topK: 10, explain: true }));
  const answers: string[] = [];
  const lists = questions.map((_, i) => passages.slice(i, i + 2));
  for await (const { answer } of model.read(questions, lists)) answers.push(answer);
  return { directory, found, answers, fingerprint: model.fingerprint };
}

const float = await resultsOf(fp32);
const int8 = await resultsOf(folder);

/** Keys differ by 3 %, so passages of nearly equal scores can change places. */
test("rankings agree with those of float32", () => {
  const first = questions.filter((_, i) => int8.found[i]![0]!.id === float.found[i]![0]!.id);
  assert.ok(first.length >= QUESTIONS - 2, `${first.length} of ${QUESTIONS}`);
  const shared = int8.found.map((hits, i) => {
    const others = new Set(float.found[i]!.map(({ id }) => id));
    return hits.filter(({ id }) => others.has(id)).length / hits.length;
  });
  assert.ok(mean(shared) >= 0.85, `${mean(shared)}`);
  float.found.forEach((hits, i) => {
    const rankingOf = ([hit]: readonly Hit[]): number => hit!.scores!.ranking;
    const [expected, got] = [rankingOf(hits), rankingOf(int8.found[i]!)];
    assert.ok(Math.abs(got - expected) <= 0.05 * Math.abs(expected), `${got}, not ${expected}`);
  });
});

/** A step of the decoder with two tokens of nearly equal probability can choose the other one. */
test("most answers are those of float32", () => {
  const same = questions.filter((_, i) => int8.answers[i] === float.answers[i]);
  assert.ok(same.length >= 0.7 * QUESTIONS, `${same.length} of ${QUESTIONS}`);
});

test("an index belongs to one precision, and a wrong one is refused in one line", async () => {
  assert.is.not(int8.fingerprint, float.fingerprint);
  await using model = await ReAtt.load(folder);
  const message = new RegExp(
    `expected an index of the model ${int8.fingerprint}, got one of the model ${float.fingerprint}; use`,
  );
  await refused(model.openIndex(float.directory), message);
  await using original = await ReAtt.load(fp32);
  await refused(original.openIndex(int8.directory), /expected an index of the model/);
});

test("the parts of a weight are the weight", async () => {
  const config = await readConfig(folder);
  await using stored = await openStored(folder, config);
  const counts = new Map<string, number>();
  for (const name of parameterShapes(config).keys()) {
    const parts: Buffer[] = [];
    for await (const part of stored.parts(name)) parts.push(Buffer.from(bytesOf(part)));
    assert.ok(Buffer.concat(parts).equals(bytesOf(await stored.read(name))), name);
    counts.set(name, parts.length);
  }
  assert.ok(counts.get("embedding.weight")! > 1);
});

test("the weights in float32 have other keys than products of integers: another fingerprint", async () => {
  const back = join(parent, "back");
  await convertModel(folder, { out: back, precision: "fp32" });
  await using model = await ReAtt.load(back);
  assert.is.not(model.fingerprint, int8.fingerprint);
});

test.run();
