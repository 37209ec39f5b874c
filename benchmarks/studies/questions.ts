/**
 * What the embedded model gains from the number of real questions. Each row continues the model of
 * the row before with questions that it has not seen, once each, with its own warm-up and decay of
 * the learning rate. Reading starts from MiniLM with a reader that has read nothing, retrieval from
 * MiniLM itself, as in recipes/reatt-mini, which makes the start and the questions.
 */

import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../src/io/errors.ts";
import { replaceFile } from "../../src/io/replace-file.ts";
import { sample } from "./data.ts";
import { measureOnSquad } from "./measure-retrieval.ts";
import type { Options, Row, Study } from "./study.ts";

/** Questions that a model has seen after each row. */
const COUNTS = [6_000, 12_000, 24_000, 48_000];
const QUESTIONS = 32;

/** Folders that recipes/reatt-mini/train makes. */
const RECIPE = "runs/reatt-mini";
const START = join(RECIPE, "converted");
const READING = join(RECIPE, "reading");

/** @param data the folder of all data, with `squad` */
export function questionsStudy(data: string, folder: string): Study {
  const reading: Options = {
    ...{ objective: "qa", "reader-only": "", "copy-attention": "1", "learning-rate": "5e-4" },
    "max-passage-tokens": "112",
  };
  const retrieval: Options = {
    ...{ objective: "retrieval", refresh: "none", "learning-rate": "3e-5" },
    "max-passage-tokens": "192",
  };
  const readers = chain("reading", reading, "excerpts", folder);
  const finders = chain("retrieval", retrieval, "paragraphs", folder);
  return {
    options: { model: START, questions: `${QUESTIONS}`, "candidates-per-question": "1" },
    // in turn: with two lanes, one trains readers and the other retrieval
    rows: [{ name: "before" }, ...COUNTS.flatMap((_, i) => [readers[i]!, finders[i]!])],
    async prepare() {
      if (!existsSync(join(READING, "paragraphs/questions.jsonl")) || !existsSync(START))
        throw new InputError({
          where: RECIPE,
          expected: "the folders `converted` and `reading`",
          got: "none",
          remedy: "run recipes/reatt-mini/train until its stage `excerpts` begins",
        });
      for (const texts of ["excerpts", "paragraphs"]) await writeParts(texts, join(folder, texts));
    },
    // only readers have learned to answer
    measure: (model, row) =>
      measureOnSquad(model, data, readers.includes(row) ? { every: 3, readTopK: 1 } : undefined),
  };
}

/** A row for each count: each starts from the model of the row before. */
function chain(name: string, options: Options, texts: string, folder: string): Row[] {
  const rows: Row[] = [];
  for (const [i, count] of COUNTS.entries()) {
    const after = rows.at(-1);
    rows.push({
      name: `${name}, ${count.toLocaleString("en")} questions`,
      ...(after && { after }),
      options: {
        ...options,
        corpus: join(READING, texts, "corpus.jsonl"),
        data: join(folder, texts, `${count}.jsonl`),
        steps: `${Math.ceil((count - (COUNTS[i - 1] ?? 0)) / QUESTIONS)}`,
      },
    });
  }
  return rows;
}

/**
 * `COUNT.jsonl` has the questions that its row adds. Both lanes write the same, and one may read
 * while the other writes.
 */
async function writeParts(texts: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lines = (await readFile(join(READING, texts, "questions.jsonl"), "utf8"))
    .trim()
    .split("\n");
  const order = sample(lines, COUNTS.at(-1)!, "questions study");
  for (const [i, count] of COUNTS.entries()) {
    const part = order.slice(COUNTS[i - 1] ?? 0, count);
    const file = join(folder, `${count}.jsonl`);
    await replaceFile(file, (handle) => handle.writeFile(`${part.join("\n")}\n`));
  }
}
