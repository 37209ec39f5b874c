/**
 * What retrieval learns from, with one model and equal budgets: the attention of the decoder
 * (distillation), the gold passage, or the likelihood of answers alone. The start is the seed of
 * the embedded model, which retrieves and reads, both not well.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { about, readSet, sample, writeSet } from "./data.ts";
import { measureOnSquad } from "./measure-retrieval.ts";
import type { Study } from "./study.ts";

const PARAGRAPHS = 1_000;

/** @param data the folder of all data, with `squad` and `qa`, beside that of the models */
export function targetsStudy(data: string, folder: string): Study {
  const few = join(folder, "few");
  return {
    options: {
      ...{ model: join(data, "../models/reatt-mini-seed"), corpus: join(few, "corpus.jsonl") },
      ...{ data: join(few, "questions.jsonl"), "candidates-per-question": "2" },
      ...{ questions: "16", steps: "100", "learning-rate": "1e-4", "max-passage-tokens": "152" },
    },
    rows: [
      { name: "before" },
      { name: "distillation", options: { objective: "distillation" } },
      { name: "gold passage as the target", options: { objective: "supervised" } },
      { name: "no target (answers alone)", options: { objective: "qa" } },
    ],
    async prepare() {
      if (existsSync(join(few, "questions.jsonl"))) return; // written last
      const all = await readSet(join(data, "qa/squad-train"));
      const paragraphs = sample(all.passages, PARAGRAPHS, "targets study").map(({ id }) => id);
      await writeSet(few, "questions", about(all, new Set(paragraphs)));
    },
    measure: (model) => measureOnSquad(model, data, { every: 6, readTopK: 5 }),
  };
}
