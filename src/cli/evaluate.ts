/** `reatt evaluate`: how good a run or a file of answers is. */

import { DEFAULT_CUTOFFS, type Measures } from "../evaluation/measures.ts";
import { evaluateAnswers, readPredictions } from "../evaluation/predictions.ts";
import { evaluateRun } from "../evaluation/ranking.ts";
import { readQrels, readRun } from "../evaluation/trec.ts";
import { InputError } from "../io/errors.ts";
import { readQuestions } from "../text/read-passages.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";

const evaluateRetrieval = defineCommand({
  name: "evaluate retrieval",
  summary: "Measures a ranking against relevance judgements, by trec_eval's rules.",
  options: {
    run: {
      kind: "text",
      placeholder: "FILE.trec",
      help: "ranking: query Q0 passage rank score tag",
      required: true,
    },
    qrels: {
      kind: "text",
      placeholder: "FILE",
      help: "judgements: query 0 passage label, or BEIR's query passage label",
      required: true,
    },
    k: {
      kind: "text",
      placeholder: "K,K,...",
      help: `ranks at which rankings are cut (default ${DEFAULT_CUTOFFS})`,
    },
    json: { kind: "flag", help: "one JSON object" },
  },
  async run({ run: runFile, qrels, k, json }) {
    const cutoffs = parseCutoffs(k);
    const { measures, ...counts } = evaluateRun(
      await readRun(runFile),
      await readQrels(qrels),
      cutoffs,
    );
    const { queries, unanswered, unjudged } = counts;
    if (unanswered === queries) throw nothingShared(runFile, "queries", qrels);
    if (json) return print(JSON.stringify({ ...counts, ...measures }));
    print(
      `${queries} queries, ${unanswered} of them without results; ${unjudged} more that nobody judged`,
    );
    print(formatMeasures(measures));
  },
});

const evaluateAnswersCommand = defineCommand({
  name: "evaluate answers",
  summary: "Measures answers and the passages they were read from, by the rules of SQuAD and DPR.",
  options: {
    predictions: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: "what reatt answer --queries FILE --json prints",
      required: true,
    },
    data: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: 'questions, one a line: {"id","question","answers"}',
      required: true,
    },
    json: { kind: "flag", help: "one JSON object" },
  },
  async run({ predictions, data, json }, signal) {
    const questions = await readQuestions(data, signal);
    if (!questions.some(({ answers }) => answers?.length)) {
      const remedy = "name the file with the accepted answers";
      throw new InputError({
        where: data,
        expected: '"answers" of the questions',
        got: "none",
        remedy,
      });
    }
    const { measures, ...counts } = evaluateAnswers(await readPredictions(predictions), questions);
    if (counts.unanswered === counts.questions) throw nothingShared(predictions, "questions", data);
    if (json) return print(JSON.stringify({ ...counts, ...measures }));
    print(`${counts.questions} questions, ${counts.unanswered} of them without a prediction`);
    print(formatMeasures(measures));
  },
});

const EVALUATIONS: readonly Command[] = [evaluateRetrieval, evaluateAnswersCommand];

export const evaluateCommand: Command = {
  name: "evaluate",
  summary: "Measures rankings (evaluate retrieval) or answers (evaluate answers).",
  help: () => EVALUATIONS.map((command) => command.help()).join("\n"),
  async run([what, ...args], signal) {
    const command = EVALUATIONS.find(({ name }) => name === `evaluate ${what}`);
    if (command === undefined) throw new UsageError("evaluate what: retrieval or answers?");
    await command.run(args, signal);
  },
};

/** A line for each measure; one that is cut at ranks has its ranks side by side. */
export function formatMeasures(measures: Measures): string {
  const rows = new Map<string, string[]>();
  for (const [key, value] of Object.entries(measures)) {
    const [name, k] = key.split("@") as [string, string?];
    const cell = `${value.toFixed(4)}${k === undefined ? "" : ` @${k}`}`;
    rows.set(name, [...(rows.get(name) ?? []), cell.padEnd(11)]);
  }
  const width = Math.max(...Array.from(rows.keys(), (name) => name.length));
  return Array.from(
    rows,
    ([name, cells]) => `${name.padEnd(width)}  ${cells.join("  ").trimEnd()}`,
  ).join("\n");
}

/** "1,5,10" -> [1, 5, 10]. */
function parseCutoffs(given: string | undefined): readonly number[] {
  if (given === undefined) return DEFAULT_CUTOFFS;
  const cutoffs = given.split(",").map((text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : 0));
  if (cutoffs.every((k) => k >= 1 && Number.isSafeInteger(k)))
    return [...new Set(cutoffs)].sort((a, b) => a - b);
  throw new UsageError(
    `--k: expected whole numbers from 1 on with commas between them, got "${given}"`,
  );
}

function nothingShared(where: string, what: string, other: string): InputError {
  const remedy = "name two files that belong together";
  return new InputError({ where, expected: `${what} of ${other}`, got: "none of them", remedy });
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
