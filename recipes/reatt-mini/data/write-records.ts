/** Writes passages and questions as JSON Lines, in the form that `reatt train` reads. */

import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "../../../src/io/replace-file.ts";
import type { Passage } from "../../../src/text/passage.ts";
import type { TrainingQuestion } from "../../../src/training/examples/training-questions.ts";

export const passageRecord = ({ id, title, text }: Passage): object => ({ _id: id, title, text });

export const questionRecord = ({ id, question, answers, passageId }: TrainingQuestion): object => ({
  id,
  question,
  answers,
  passage_id: passageId,
});

/** Writes each file below `out` in one step, and prints how many records it has. */
export async function writeRecords(
  out: string,
  files: Readonly<Record<string, readonly object[]>>,
): Promise<void> {
  for (const [name, records] of Object.entries(files)) {
    const path = join(out, name);
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, (file) => file.writeFile(lines));
    process.stdout.write(`${path}: ${records.length}\n`);
  }
}
