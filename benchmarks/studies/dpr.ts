/**
 * DPR's ablations with one vector for each text (Karpukhin et al. 2020, tables 3 and 5, figure 1):
 * negatives, number of questions, and questions of other domains. Only the projection of the
 * vectors is trained, so a row takes minutes.
 */

import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { about, readSet, sample, writeSet } from "./data.ts";
import { measureRetrieval } from "./measure-retrieval.ts";
import type { Row, Study } from "./study.ts";

const PARAGRAPHS = 1_000;
const RANDOM_NEGATIVES = 7;
const STEPS = 150;
const QUESTIONS = 32;

/** @param data the folder of all data, with `squad`, `scifact` and `qa` */
export function dprStudy(data: string, folder: string): Study {
  const start = join(folder, "start");
  const few = join(folder, "few");
  const all = join(folder, "all");
  const set = (directory: string, questions: string, options: Record<string, string>) => ({
    corpus: join(directory, "corpus.jsonl"),
    data: join(directory, `${questions}.jsonl`),
    ...options,
  });
  const inBatch = (questions: number): Record<string, string> => ({
    "candidates-per-question": "1",
    questions: `${questions}`,
    steps: `${(STEPS * QUESTIONS) / questions}`,
  });
  const hard = { "candidates-per-question": "2" };
  const own = { "no-in-batch-negatives": "", "candidates-per-question": `${RANDOM_NEGATIVES + 1}` };
  const best = "31 in the batch, and one of BM25 for each question";
  const rows: Row[] = [
    { name: "before" },
    { name: "7 random", options: set(few, "random", own) },
    { name: "7 of BM25", options: set(few, "questions", own) },
    { name: "7 in the batch", options: set(few, "questions", inBatch(8)) },
    { name: "31 in the batch", options: set(few, "questions", inBatch(32)) },
    { name: "95 in the batch", options: set(few, "questions", inBatch(96)) },
    { name: best, options: set(few, "questions", hard) },
    {
      name: "the same, and those of the last 2 steps",
      options: set(few, "questions", { ...hard, "pre-batch": "2" }),
    },
    { name: "1,000 questions", options: set(few, "thousand", hard) },
    { name: "40,206 questions", options: set(all, "questions", hard) },
  ];
  return {
    options: {
      ...{ model: start, objective: "retrieval", "head-only": "" },
      ...{ questions: `${QUESTIONS}`, steps: `${STEPS}`, "learning-rate": "1e-3" },
      "max-passage-tokens": "192",
    },
    rows,
    async prepare() {
      if (existsSync(join(few, "random.jsonl"))) return; // written last
      const squad = await readSet(join(data, "qa/squad-train"));
      const paragraphs = sample(squad.passages, PARAGRAPHS, "dpr study").map(({ id }) => id);
      const chosen = about(squad, new Set(paragraphs));
      await writeSet(all, "questions", squad);
      await writeSet(few, "questions", chosen);
      const thousand = sample(chosen.questions, 1_000, "dpr study");
      await writeStart(join(data, "../models/reatt-mini-seed"), start);
      await writeSet(few, "thousand", { ...chosen, questions: thousand });
      await writeSet(few, "random", { ...chosen, questions: withRandom(chosen, paragraphs) });
    },
    measure: (model) =>
      measureRetrieval({
        ...{ model, data: join(data, "squad"), split: "dev", maxPassageTokens: 256 },
        measures: ["recall@1", "recall@5", "recall@20"],
      }),
  };
}

/** The model with one vector for each text, which no training has made useful yet. */
async function writeStart(seed: string, out: string): Promise<void> {
  await cp(seed, out, { recursive: true });
  const config = JSON.parse(await readFile(join(seed, "config.json"), "utf8"));
  const vectors = { ...config, retrieval_pooling: "mean", retrieval_scale: 1 };
  await writeFile(join(out, "config.json"), JSON.stringify(vectors));
}

/** Questions with their passage and random others as candidates. */
function withRandom({ questions }: ReturnType<typeof about>, paragraphs: readonly string[]) {
  const random = createRandom("dpr study, random negatives");
  return questions.map((question) => {
    const contexts = new Set([question.passageId!]);
    while (contexts.size <= RANDOM_NEGATIVES)
      contexts.add(paragraphs[random.integer(paragraphs.length)]!);
    return { ...question, contexts: [...contexts] };
  });
}
