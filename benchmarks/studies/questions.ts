/**
 * What the embedded model gains from the number of real questions: each row reads that many
 * questions once. Reading starts from MiniLM with a reader that has read nothing, retrieval from
 * MiniLM itself, as in recipes/reatt-mini, which makes the start and the questions.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../src/io/errors.ts";
import { measureOnSquad } from "./measure-retrieval.ts";
import type { Options, Row, Study } from "./study.ts";

const COUNTS = [6_000, 12_000, 24_000, 48_000];
const QUESTIONS = 32;

/** Folders that recipes/reatt-mini/train makes. */
const RECIPE = "runs/reatt-mini";
const START = join(RECIPE, "converted");
const READING = join(RECIPE, "reading");

/** @param data the folder of all data, with `squad` */
export function questionsStudy(data: string): Study {
  const from = (texts: string): Options => ({
    corpus: join(READING, texts, "corpus.jsonl"),
    data: join(READING, texts, "questions.jsonl"),
  });
  const reading: Options = {
    ...{ ...from("excerpts"), objective: "qa", "reader-only": "", "copy-attention": "1" },
    ...{ "learning-rate": "5e-4", "max-passage-tokens": "112" },
  };
  const retrieval: Options = {
    ...{ ...from("paragraphs"), objective: "retrieval", refresh: "none" },
    ...{ "learning-rate": "3e-5", "max-passage-tokens": "192" },
  };
  const rows = (name: string, options: Options): Row[] =>
    COUNTS.map((count) => ({
      name: `${name}, ${count.toLocaleString("en")} questions`,
      options: { ...options, steps: `${Math.round(count / QUESTIONS)}` },
    }));
  return {
    options: { model: START, questions: `${QUESTIONS}`, "candidates-per-question": "1" },
    rows: [{ name: "before" }, ...rows("reading", reading), ...rows("retrieval", retrieval)],
    async prepare() {
      if (existsSync(join(READING, "paragraphs/questions.jsonl")) && existsSync(START)) return;
      throw new InputError({
        where: RECIPE,
        expected: "the folders `converted` and `reading`",
        got: "none",
        remedy: "run recipes/reatt-mini/train until its stage `excerpts` begins",
      });
    },
    measure: (model) => measureOnSquad(model, data, { every: 3, topK: 1 }),
  };
}
