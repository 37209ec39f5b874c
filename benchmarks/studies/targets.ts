/**
 * The stage of the ReAtt paper on the embedded model, end to end, with controls of equal length:
 * retrieval learns from the attention of the decoder (distillation), from the gold passage, or from
 * the likelihood of answers alone.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { about, readSet, sample, writeSet } from "./data.ts";
import { measureOnSquad } from "./measure-retrieval.ts";
import type { Study } from "./study.ts";

const PARAGRAPHS = 1_000;

/** @param data the folder of all data, with `squad` and `qa` */
export function targetsStudy(data: string, folder: string): Study {
  const few = join(folder, "few");
  return {
    options: {
      ...{ model: "models/reatt-mini", corpus: join(few, "corpus.jsonl") },
      ...{ data: join(few, "questions.jsonl"), "candidates-per-question": "4" },
      ...{ questions: "16", steps: "30", "learning-rate": "2e-5", "max-passage-tokens": "192" },
    },
    rows: [
      { name: "before" },
      { name: "distillation", options: { objective: "distillation" } },
      {
        name: "distillation, retrieval alone",
        options: { objective: "distillation", train: "retrieval" },
      },
      { name: "gold passage as the target", options: { objective: "supervised" } },
      { name: "no target (answers alone)", options: { objective: "qa" } },
    ],
    async prepare() {
      if (existsSync(join(few, "questions.jsonl"))) return; // written last
      const all = await readSet(join(data, "qa/squad-train"));
      const paragraphs = sample(all.passages, PARAGRAPHS, "targets study").map(({ id }) => id);
      await writeSet(few, "questions", about(all, new Set(paragraphs)));
    },
    measure: (model) => measureOnSquad(model, data, { every: 6, readTopK: 1 }),
  };
}
