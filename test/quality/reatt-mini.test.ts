/**
 * The quality of the embedded model on 200 questions stays above a floor. It searches their
 * paragraphs and a fifth of the others of data/squad.
 *
 * Each floor is two standard errors, `2 sqrt(p (1 - p) / questions)`, below the share `p` that was
 * measured. A change that only reorders a few ties passes; a change that breaks encoding, search or
 * reading does not.
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { exactMatch } from "../../src/evaluation/answers.ts";
import { type Passage, ReAtt, readPassages, readQuestions } from "../../src/index.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";

/** In percent, measured 2026-12. */
const MEASURED = { recall1: 86.5, recall5: 98, exactMatch: 64 };
const ANSWERED = 100; // answers take most of the time

const folder = await mkdtemp(join(tmpdir(), "reatt-quality-"));
const questions = await readQuestions("test/fixtures/squad-questions/questions.jsonl");
const model = await ReAtt.load("models/reatt-mini");
const index = await model.index(somePassages(), { directory: join(folder, "index") });

async function* somePassages(): AsyncGenerator<Passage> {
  const asked = new Set(questions.map(({ passageId }) => passageId));
  let others = 0;
  for await (const passage of readPassages("data/squad/corpus.jsonl"))
    if (asked.has(passage.id) || others++ % 5 === 0) yield passage;
}

test.after(async () => {
  await index[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("the paragraph of the question is found", async () => {
  const texts = questions.map(({ question }) => question);
  const found = await hitLists(model.retrieve(texts, index, { topK: 5 }));
  const ranks = found.map((hits, i) => hits.findIndex(({ id }) => id === questions[i]!.passageId));
  expectShare(
    "R@1",
    ranks.map((rank) => rank === 0),
    MEASURED.recall1,
  );
  expectShare(
    "R@5",
    ranks.map((rank) => rank >= 0),
    MEASURED.recall5,
  );
});

test("the answer is read from as many paragraphs as the model stores", async () => {
  const some = questions.filter((_, i) => i % (questions.length / ANSWERED) === 0);
  const texts = some.map(({ question }) => question);
  const correct: boolean[] = [];
  for await (const { answer } of model.answer(texts, index, { minimumConfidence: 0 }))
    correct.push(exactMatch(answer, some[correct.length]!.answers!));
  expectShare("exact match", correct, MEASURED.exactMatch);
});

/** Prints the share of what is true, and fails if it is below the floor. */
function expectShare(name: string, outcomes: readonly boolean[], measured: number): void {
  const count = outcomes.length;
  const share = (100 * outcomes.filter(Boolean).length) / count;
  const floor = measured - 2 * Math.sqrt((measured * (100 - measured)) / count);
  console.log(`${name} ${share.toFixed(1)} % of ${count} questions, floor ${floor.toFixed(1)} %`);
  assert.ok(share >= floor, `${name} is ${share.toFixed(1)} %, expected ${floor.toFixed(1)} %`);
}

test.run();
