/**
 * Simulates the passages of training steps, without a model: how many are copies, how low the KL
 * divergence can be, how many negatives are left out, and what the relevance of a step costs.
 *
 *     npx tsx benchmarks/bench-copies.ts --data DIR [--steps 200] [--questions 16] [--candidates 4]
 *
 * DIR has `corpus.jsonl` and `train.jsonl`. The target of a question is its labelled passage.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { finished } from "../src/io/progress.ts";
import { mean } from "../src/math/mean.ts";
import { openCorpus } from "../src/training/examples/corpus.ts";
import { questionExamples } from "../src/training/examples/sources/questions.ts";
import { lengthBucketedSample, type TextExample } from "../src/training/examples/step.ts";
import { type Relevance, stepRelevance } from "../src/training/examples/step-relevance.ts";
import { readQuestionsAbout } from "../src/training/examples/training-questions.ts";
import { withCandidates } from "../src/training/examples/with-candidates.ts";
import { withDefaults } from "../src/training/options/train-options.ts";
import { candidateSettings } from "../src/training/run/candidate-settings.ts";

/** Of one question, or of one step. */
interface Figures {
  readonly [name: string]: number;
}

/** How often the step's passages are the same ones, and what this does to each question. */
function copiesOf(examples: readonly TextExample[], relevance: readonly Relevance[]): Figures {
  const ids = examples.flatMap(({ passages }) => passages.map(({ id }) => id));
  const copies = new Map<string, number>();
  for (const id of ids) copies.set(id, (copies.get(id) ?? 0) + 1);
  const targets = examples.map(({ relevant }) => copies.get(relevant[0]!)!);
  const leftOut = relevance.map(({ notNegatives }) => notNegatives.length);
  return {
    "share of candidates that are second copies or later": 1 - copies.size / ids.length,
    "share of candidates that another question has too": mean(
      ids.map((id) => Number(copies.get(id)! > 1)),
    ),
    "share of questions with a copied target": mean(targets.map((count) => Number(count > 1))),
    "share of questions with a copied candidate": mean(
      examples.map(({ passages }) => Number(passages.some(({ id }) => copies.get(id)! > 1))),
    ),
    "lowest KL, each copy counted, nats": mean(targets.map(Math.log)),
    "share of other passages that are no negatives": mean(leftOut) / (copies.size - 1),
  };
}

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    steps: { type: "string", default: "200" },
    questions: { type: "string", default: "16" },
    candidates: { type: "string", default: "4" },
  },
});
const folder = values.data!;
const out = await mkdtemp(join(tmpdir(), "reatt-copies-"));
const options = withDefaults({
  model: "unused",
  corpus: join(folder, "corpus.jsonl"),
  data: join(folder, "train.jsonl"),
  out,
  steps: Number(values.steps),
  questions: Number(values.questions),
  candidatesPerQuestion: Number(values.candidates),
});
await using corpus = await openCorpus(options.corpus, { bm25: true });
const questions = questionExamples(await readQuestionsAbout(corpus, options.data));
const data = withCandidates(candidateSettings(options), corpus, "questions", questions);
const source = await finished(data.examples(0, undefined));
await rm(out, { recursive: true });

const figures: Figures[] = [];
let milliseconds = 0;
for (let step = 0; step < options.steps; step++) {
  const sample = { seed: "copies", step, count: options.questions };
  const examples = lengthBucketedSample(source, sample).map((index) => source.example(index, step));
  const start = performance.now();
  const relevance = stepRelevance(examples);
  milliseconds += performance.now() - start;
  figures.push(copiesOf(examples, relevance));
}
for (const name of Object.keys(figures[0]!))
  process.stdout.write(`${name}: ${mean(figures.map((each) => each[name]!)).toFixed(3)}\n`);
process.stdout.write(`relevance of a step: ${(milliseconds / options.steps).toFixed(1)} ms\n`);
