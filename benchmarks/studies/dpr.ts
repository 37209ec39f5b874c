/**
 * DPR's ablations with one vector for each text (Karpukhin et al. 2020, table 3 and figure 1):
 * negatives, and the number of questions. The start compares the means of the states of the seed of
 * the embedded model, which were not trained for that.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { writeVectorModel } from "../bench-retrievers/models.ts";
import { about, readSet, sample, writeSet } from "./data.ts";
import { measureOnSquad } from "./measure-retrieval.ts";
import type { Row, Study } from "./study.ts";

const PARAGRAPHS = 1_000;
const RANDOM_NEGATIVES = 7;
const STEPS = 80;
const QUESTIONS = 32;

/** @param data the folder of all data, with `squad` and `qa`, beside that of the models */
export function dprStudy(data: string, folder: string): Study {
  const start = join(folder, "start");
  const few = join(folder, "few");
  const set = (questions: string, options: Record<string, string>) => ({
    data: join(few, `${questions}.jsonl`),
    ...options,
  });
  const hard = { "candidates-per-question": "2" };
  const alone = { "candidates-per-question": "1" };
  const own = { "no-in-batch-negatives": "", "candidates-per-question": `${RANDOM_NEGATIVES + 1}` };
  const rows: Row[] = [
    { name: "before" },
    { name: "7 random", options: set("random", own) },
    { name: "7 of BM25", options: set("questions", own) },
    { name: "31 in the batch", options: set("questions", alone) },
    { name: "31 in the batch, and one of BM25 for each", options: set("questions", hard) },
    { name: "the same, 1,000 questions", options: set("thousand", hard) },
  ];
  return {
    options: {
      corpus: join(few, "corpus.jsonl"),
      ...{ model: start, objective: "retrieval", "max-passage-tokens": "152" },
      ...{ questions: `${QUESTIONS}`, steps: `${STEPS}`, "learning-rate": "1e-3" },
    },
    rows,
    async prepare() {
      if (existsSync(join(few, "random.jsonl"))) return; // written last
      const squad = await readSet(join(data, "qa/squad-train"));
      const paragraphs = sample(squad.passages, PARAGRAPHS, "dpr study").map(({ id }) => id);
      const chosen = about(squad, new Set(paragraphs));
      await writeSet(few, "questions", chosen);
      const thousand = sample(chosen.questions, 1_000, "dpr study");
      await writeVectorModel(join(data, "../models/reatt-mini-seed"), start);
      await writeSet(few, "thousand", { ...chosen, questions: thousand });
      await writeSet(few, "random", { ...chosen, questions: withRandom(chosen, paragraphs) });
    },
    measure: (model) => measureOnSquad(model, data),
  };
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
