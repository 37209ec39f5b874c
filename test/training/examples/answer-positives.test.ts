/** BM25's best passage with the answer, against a loop over its ranking. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { containsAnswer } from "../../../src/evaluation/answers.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import { withAnswerPositives } from "../../../src/training/examples/corpus-answers.ts";
import type { Example } from "../../../src/training/examples/example.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());

const rivers = ["Rhine", "Rhone", "Elbe", "Oder"];
/** Passages repeat "long river" more often, the later they are. */
const passages = Array.from({ length: 12 }, (_, i) => ({
  id: `p${i}`,
  title: "",
  text: `${rivers[i % 4]} is a ${"long river ".repeat(i + 1)}of ${20 + (i % 3)} places`,
}));
const ask = (id: string, question: string, answers: string[]): Example => ({
  ...{ id, question, answers, relevant: [] },
});
const questions: Example[] = [
  ask("0", "a long river", ["Elbe", "21 places"]),
  ask("1", "the Oder, a long river", ["20 PLACES"]),
  ask("2", "a long river", ["Danube"]), // in no passage
  { ...ask("3", "a long river", ["Elbe"]), relevant: ["p0"] },
  { ...ask("4", "a long river", ["Elbe"]), contexts: ["p1"], scores: [2] },
];

test("a question without a label gets the best passage of BM25 that contains an answer", async () => {
  const file = writeLines(join(folder.path, "corpus.jsonl"), passages);
  await using corpus = await openCorpus(file);
  const labelled = await finish(withAnswerPositives(questions, corpus));
  const bm25 = await corpus.bm25();
  const bestOf = ({ question, answers }: Example): string | undefined =>
    bm25
      .search(question, passages.length)
      .find(({ id }) => containsAnswer(passages.find((one) => one.id === id)!.text, answers))?.id;
  const positives = labelled.map(({ relevant }) => relevant[0]);
  const [first, second] = questions as [Example, Example];
  assert.equal(positives, [bestOf(first), bestOf(second), undefined, "p0", undefined]);
  assert.ok(positives[0] !== undefined && positives[1] !== undefined);
  assert.equal(
    labelled.map((example) => ({ ...example, relevant: [] })),
    questions.map((example) => ({ ...example, relevant: [] })),
  );
});

test.run();
