/**
 * Asks 26 questions about one handbook in five formats, with the defaults of `answer`. pandoc makes
 * the others of the Markdown, and Chromium prints the page as PDF, with its running heads and feet.
 * Prints the wrong answers of each format, and how many are right: the answer has an accepted one
 * in it, and at most 12 words.
 *
 *     npx tsx benchmarks/five-formats.ts [--folder DIR] [--model DIR] [--only FORMAT,...]
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ReAtt } from "../src/reatt.ts";

const QUESTIONS: readonly (readonly [question: string, ...answers: string[]])[] = [
  ["When was the harbour opened?", "1887"],
  ["Who is the deputy of the harbour master?", "Piet Larsen"],
  ["which number do I call when the office is closed", "555-0147"],
  ["How long is the waiting list for a boat of 14 metres?", "four years"],
  ["for how many weeks may I lend my berth", "six weeks"],
  ["How many berths does the south pier have?", "112"],
  ["depth of the mill pier at low tide", "1.6 metres"],
  ["What is the longest boat that can lie at the north pier?", "18 metres"],
  ["How thick must lines be?", "14 millimetres"],
  ["why are chains not allowed", "they cut the beams", "cut the beams"],
  ["When is the yearly fee due?", "31 March"],
  ["winter fee of a boat up to 10 metres", "215 crowns"],
  ["How much is the whole year for a boat over 14 metres?", "1,540 crowns"],
  ["How much does a visitor pay a night?", "18 crowns"],
  ["what can the crane lift", "nine tonnes"],
  ["Where must gas bottles stand?", "on deck"],
  ["Which children must wear a life jacket?", "under twelve"],
  ["Who gives the permit for a pump against ice?", "Piet Larsen"],
  ["what do two black balls at the mast mean", "a storm", "storm of force nine"],
  ["Why is paint with copper forbidden?", "poisons the mussels"],
  ["How high is the fine for a leaking tank in the lagoon?", "900 crowns"],
  ["When may nobody land on the outer breakwater?", "1 April and 15 August"],
  ["price of a kilowatt hour", "0.32 crowns"],
  ["Who has the key of the workshop?", "Marta Voss"],
  ["on which day is welding allowed", "Wednesdays"],
  ["What is the speed limit in the channel?", "five"],
];
const MAX_WORDS = 12;
const FORMATS = ["md", "html", "docx", "epub", "rst", "pdf"];
const HANDBOOK = "benchmarks/five-formats/handbook.md";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/five-formats" },
    model: { type: "string" },
    only: { type: "string", default: FORMATS.join(",") },
  },
});

/** The handbook in a format. */
function made(format: string): string {
  if (format === "md") return HANDBOOK;
  const file = resolve(values.folder, `handbook.${format}`);
  if (existsSync(file)) return file;
  mkdirSync(values.folder, { recursive: true });
  const run = (command: string, ...args: readonly string[]): void =>
    void execFileSync(command, args, { stdio: "ignore" });
  if (format !== "pdf") run("pandoc", "--standalone", "-o", file, HANDBOOK);
  else {
    const page = `file://${made("html")}`;
    run("chromium", "--headless", "--no-sandbox", `--print-to-pdf=${file}`, page);
  }
  return file;
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.,-]+/gu, " ")
    .trim();

const isRight = (answer: string, accepted: readonly string[]): boolean =>
  answer.split(/\s+/).length <= MAX_WORDS &&
  accepted.some((one) => ` ${plain(answer)} `.includes(plain(one)));

await using model = await ReAtt.load(values.model);
console.log("| format | passages | right of 26 |\n|---|---|---|");
for (const format of values.only.split(",")) {
  const directory = await mkdtemp(join(tmpdir(), "five-formats-"));
  try {
    await using index = await model.openOrIndex(made(format), { directory });
    const wrong: string[] = [];
    for (const [question, ...accepted] of QUESTIONS) {
      const { answer } = await model.answer(question, index);
      if (!isRight(answer, accepted)) wrong.push(`    ${question} -> ${answer || "(none)"}`);
    }
    const right = QUESTIONS.length - wrong.length;
    console.log(`| ${format} | ${index.passageCount} | ${right} |\n${wrong.join("\n")}`);
  } finally {
    await rm(directory, { recursive: true });
  }
}
