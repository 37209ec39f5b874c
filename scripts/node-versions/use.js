/**
 * Uses the built package as a program does, on any runtime: `bun use.js FOLDER`. It builds an
 * index, searches many questions in threads, answers, and closes what it has opened.
 */

import { join } from "node:path";
import { ReAtt } from "../../dist/index.js";

const QUESTION = "Who patented a steam engine in 1781?";
const passages = ["James Watt patented a steam engine in 1781.", "The Rhine is a river."].map(
  (text, i) => ({ id: `${i}`, title: "", text }),
);

const model = await ReAtt.load();
const directory = join(process.argv[2], "index");
const index = await model.index(passages, { directory, bits: 2 });
const questions = Array.from({ length: 10 }, (_, i) => `${QUESTION} ${i}`);
let found = 0;
for await (const { passages } of model.retrieve(questions, index, { topK: 1 }))
  if (passages[0].id === "0") found++;
if (found !== questions.length) throw new Error(`${found} of ${questions.length} were found`);
const { answer, evidence } = await model.answer(QUESTION, index);
if (answer !== "James Watt" || evidence.length === 0) throw new Error(`the answer is ${answer}`);
await index.close();
await model.close();
