/**
 * How many of 200 questions that name their passage by an identifier find it first, by words, by
 * the model and by both, among passages that differ from it in the identifier alone, and the
 * paragraphs of data/squad.
 *
 *     npx tsx benchmarks/look-alikes.ts [--model DIR] [--others N]
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLexicalIndex, ReAtt, readPassages } from "../src/index.ts";
import type { PassageInput } from "../src/text/passage.ts";
import { lookAlikes } from "./look-alikes/questions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    others: { type: "string", default: "500" },
  },
});

const { passages, questions } = lookAlikes();

async function* all(): AsyncGenerator<PassageInput, void> {
  yield* passages;
  let left = Number(values.others);
  for await (const passage of readPassages("data/squad/corpus.jsonl")) {
    if (left-- <= 0) return;
    yield passage;
  }
}

const directory = await mkdtemp(join(tmpdir(), "look-alikes-"));
try {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(all(), { directory: join(directory, "index") });
  const lexical = await openLexicalIndex(index);
  const rows = new Map<string, [words: number, model: number, both: number]>();
  for (const { kind, question, passage } of questions) {
    const [byWords] = lexical.search(question, { topK: 1 });
    const [byModel] = await model.retrieve(question, index, { topK: 1, hybrid: false });
    const [byBoth] = await model.retrieve(question, index, { topK: 1 });
    for (const name of [kind, "all"]) {
      const row = rows.get(name) ?? [0, 0, 0];
      rows.set(name, row);
      for (const [i, hit] of [byWords, byModel, byBoth].entries())
        row[i]! += Number(hit?.id === passage);
    }
  }
  console.log("| kind | words | model | both |\n|---|---|---|---|");
  for (const [kind, counts] of rows) console.log(`| ${kind} | ${counts.join(" | ")} |`);
} finally {
  await rm(directory, { recursive: true });
}
