/**
 * Makes the data of the last stage, in which the reader teaches retrieval: questions and answers
 * without the paragraph that they were asked about.
 *
 *     npx tsx recipes/reatt-mini/make-distillation-data.ts --model DIR --data DIR --out DIR
 *
 * The candidates of a question are what hybrid search of the model finds. A question is kept if one
 * of them contains an answer (DPR, section 4.2): the reader must have something to read.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { containsAnswer } from "../../src/evaluation/answers.ts";
import { createRandom } from "../../src/math/random.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";
import { passageRecord, writeRecords } from "./data/write-records.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    /** `paragraphs/` of make-reading-data.ts. */
    data: { type: "string", default: "runs/reatt-mini/reading/paragraphs" },
    out: { type: "string", default: "runs/reatt-mini/unlabelled" },
  },
});
/** Every third paragraph: an index of them takes a minute. */
const PARAGRAPHS = 3;
const QUESTIONS = 2_600;
const CANDIDATES = 4;

const passages: Passage[] = [];
for await (const passage of readPassages(join(values.data, "corpus.jsonl"))) passages.push(passage);
const corpus = passages.filter((_, i) => i % PARAGRAPHS === 0);
const ids = new Set(corpus.map(({ id }) => id));
const all = await readTrainingFile(join(values.data, "questions.jsonl"));
const questions = createRandom(1, "distillation data")
  .shuffle(all.filter(({ passageId }) => ids.has(passageId!)))
  .slice(0, QUESTIONS);

const directory = await mkdtemp(join(tmpdir(), "reatt-mini-"));
try {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(corpus, { directory });
  const texts = questions.map(({ question }) => question);
  const found = await hitLists(model.retrieve(texts, index, { topK: CANDIDATES }));
  const records = questions.flatMap(({ id, question, answers }, i) =>
    found[i]!.some(({ text }) => containsAnswer(text, answers))
      ? [{ id, question, answers, ctxs: found[i]!.map((hit) => ({ id: hit.id })) }]
      : [],
  );
  await writeRecords(values.out, {
    "corpus.jsonl": corpus.map(passageRecord),
    "questions.jsonl": records,
  });
} finally {
  await rm(directory, { recursive: true });
}
