/** The retrieval test of an adaptation: each held-out example sees its passage as it reads it. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { Example } from "../../../src/training/examples/example.ts";
import { createMonitorSet } from "../../../src/training/verdict/monitor-set.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

const FIRST = "The owl met the fox near the old gate.";
const SECOND = "The hare met the mole near the new mill.";
const THIRD = "A stoat slept below the long wall of stone.";
const TEXT = [FIRST, SECOND, THIRD].join(" ");

const crop = (sentence: string): Example => {
  const start = TEXT.indexOf(sentence);
  const cut = { passageId: "a", extent: { start, end: start + sentence.length } };
  return { id: sentence, question: sentence, answers: [], relevant: ["a"], removal: { cut } };
};

test("several examples of one passage are measured, each with its own sentence removed", async () => {
  const records = [
    { _id: "a", text: TEXT },
    { _id: "b", text: "The owl met another hare near some other gate by the sea." },
  ];
  await using folder = temporaryFolder();
  const file = writeLines(join(folder.path, "corpus.jsonl"), records);
  await using corpus = await openCorpus(file);
  const stays: Example = { ...crop(THIRD), removal: {} };
  const set = await createMonitorSet({ seed: 0, measurements: { every: 5 } }, corpus, [
    crop(FIRST),
    crop(SECOND),
    stays,
  ]);
  const texts = new Map(set.passages.map(({ id, text }) => [id, text]));
  assert.equal(
    set.questions.map(({ relevant, about, instead }) => ({
      text: texts.get(relevant[0]!),
      about,
      hidden: instead?.map(([id]) => id),
    })),
    [
      { text: `${SECOND} ${THIRD}`, about: ["a"], hidden: undefined },
      { text: `${FIRST} ${THIRD}`, about: ["a"], hidden: ["a"] },
      { text: TEXT, about: ["a"], hidden: ["a"] },
    ],
  );
  assert.is(texts.size, 4); // two versions of a, a itself, and b
});

test("with few passages, few examples are measured, each with what it is about", async () => {
  await using folder = temporaryFolder();
  const records = Array.from({ length: 40 }, (_, i) => ({ _id: `p${i}`, text: `text ${i}` }));
  await using corpus = await openCorpus(writeLines(join(folder.path, "many.jsonl"), records));
  const about = (...relevant: string[]): Example => ({
    ...{ id: relevant.join(), question: `what is ${relevant}?`, answers: [], relevant },
  });
  const many = about(...records.slice(0, 20).map(({ _id }) => _id));
  const examples = [many, ...records.map(({ _id }) => about(_id))];
  const measured = (passages?: number) =>
    createMonitorSet({ seed: 0, measurements: { every: 5, passages } }, corpus, examples);
  const few = await measured(12);
  assert.equal([few.questions.length, few.passages.length], [6, 12]);
  const ids = new Set(few.passages.map(({ id }) => id));
  assert.ok(few.questions.every(({ relevant }) => relevant.every((id) => ids.has(id))));
  assert.equal((await measured(12)).questions, few.questions);
  assert.is((await measured()).questions.length, 41);
});

test("questions of people are searched among the passages near them, the nearest of each first", async () => {
  await using folder = temporaryFolder();
  const others = Array.from({ length: 500 }, (_, i) => ({ _id: `s${i}`, text: `stone ${i}` }));
  const animals = ["owl", "fox", "hare"];
  const near = animals.flatMap((animal) => [
    { _id: `${animal} 1`, text: `The ${animal} of the wood.` },
    { _id: `${animal} 2`, text: `The ${animal} of the wood and another one by the sea.` },
  ]);
  await using corpus = await openCorpus(
    writeLines(join(folder.path, "near.jsonl"), [...others, ...near]),
  );
  const examples = animals.map((animal): Example => {
    return { id: animal, question: `${animal}?`, answers: [], relevant: [`${animal} 2`] };
  });
  const searched = async (passages?: number) => {
    const measurements = { every: 5, passages };
    const set = await createMonitorSet({ seed: 0, measurements }, corpus, examples);
    return set.passages.map(({ id }) => id).filter((id) => !id.startsWith("s"));
  };
  assert.is((await searched()).length, near.length);
  const most = await searched(6); // three relevant ones, and the first others
  assert.equal(most.sort(), near.map(({ _id }) => _id).sort());
  const crops = examples.map((one) => ({ ...one, removal: {} }));
  const set = await createMonitorSet(
    { seed: 0, measurements: { every: 5, passages: 6 } },
    corpus,
    crops,
  );
  assert.ok(
    set.passages.some(({ id }) => id.startsWith("s")),
    "made ones among random passages",
  );
});

test.run();
