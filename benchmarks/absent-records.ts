/**
 * Asks made-up documents for records that are in them and for records that are not, of five kinds
 * (absent-records/questions.ts). Prints by kind how many of the records that are there are answered
 * right, and for how many of the others an answer or a block is shown, with the defaults of
 * `answer`.
 *
 *     npx tsx benchmarks/absent-records.ts [--model DIR] [--seed N] [--verbose]
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ReAtt } from "../src/reatt.ts";
import { madeDocuments } from "./absent-records/questions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    seed: { type: "string", default: "1" },
    verbose: { type: "boolean", default: false },
  },
});

const documents = madeDocuments(Number(values.seed));
const directory = await mkdtemp(join(tmpdir(), "absent-records-"));
try {
  await using model = await ReAtt.load(values.model);
  const texts = documents.map(({ name, format, content }) => ({ id: name, format, content }));
  await using index = await model.openOrIndex(texts, { directory: join(directory, "index") });
  const rows = new Map<string, number[]>();
  for (const { name, asked } of documents)
    for (const { question, answer } of asked) {
      const reply = await model.answer(question, index);
      const isRight = answer !== undefined && reply.answer.includes(answer);
      const counts =
        answer === undefined
          ? [0, 0, 1, Number(reply.answer !== ""), Number(!reply.abstained)]
          : [1, Number(isRight), 0, 0, 0];
      for (const row of [name, "all"])
        rows.set(
          row,
          counts.map((count, i) => count + (rows.get(row)?.[i] ?? 0)),
        );
      if (values.verbose) console.log(question, answer, reply.answer, reply.confidence.toFixed(2));
    }
  console.log("| kind | there | right | not there | answered | something shown |");
  console.log("|---|---|---|---|---|---|");
  for (const [name, counts] of rows) console.log(`| ${name} | ${counts.join(" | ")} |`);
} finally {
  await rm(directory, { recursive: true });
}
