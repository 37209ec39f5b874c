/** `reatt evaluate retrieval` and `answers`: measures of a TREC run and of a file of answers. */

import { z } from "zod";
import { DEFAULT_CUTOFFS, type Measures } from "../../../evaluation/measures.ts";
import { evaluateAnswers, readPredictions } from "../../../evaluation/predictions.ts";
import { evaluateRun } from "../../../evaluation/ranking.ts";
import { readQrels, readRun } from "../../../evaluation/trec.ts";
import { InputError } from "../../../io/errors.ts";
import { flag, option, text } from "../../../options/option.ts";
import { type Question, readQuestions } from "../../../text/read-passages.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_OBJECT } from "../../shared/file-options.ts";

/** As BEIR measures; trec_eval counts such a passage. */
export const OWN_PASSAGES = option(flag().default(false), {
  help: "count a passage that has the id of its query (ArguAna, Quora)",
});

const RANKS = "whole numbers from 1 on with commas between them";
const CUTOFFS = z.array(z.int(RANKS).min(1, RANKS), RANKS);

export const evaluateRetrievalCommand = defineCommand({
  options: {
    run: option(text(), {
      help: "ranking: query Q0 passage rank score tag",
      placeholder: "FILE.trec",
    }),
    qrels: option(text(), {
      help: "qrels: query 0 passage label, or BEIR's query passage label",
      placeholder: "FILE",
    }),
    k: option(CUTOFFS.default([...DEFAULT_CUTOFFS]), {
      help: "ranks at which rankings are cut",
      placeholder: "K,K,...",
      parse: parseCutoffs,
    }),
    ownPassages: OWN_PASSAGES,
    json: JSON_OBJECT,
  },
  library: { readRun, readQrels, evaluateRun },
  example: "reatt evaluate retrieval --run run.trec --qrels qrels/test.tsv --k 1,10",
  async run({ run, qrels, k, ownPassages, json }, _signal, _operands, library) {
    const { readRun, readQrels, evaluateRun } = library;
    const options = { ownPassages };
    const found = evaluateRun(await readRun(run), await readQrels(qrels), k, options);
    const { measures, ...counts } = found;
    const { queries, unanswered, unjudged } = counts;
    if (unanswered === queries) throw nothingShared(run, "queries", qrels);
    if (json) return print(JSON.stringify({ ...counts, ...measures }));
    print(
      `${queries} queries, ${unanswered} of them without results; ` +
        `${unjudged} more that nobody judged`,
    );
    print(formatMeasures(measures));
  },
});

export const evaluateAnswersCommand = defineCommand({
  options: {
    predictions: option(text(), {
      help: "the output of reatt answer --queries FILE --json",
      placeholder: "FILE.jsonl",
    }),
    data: option(text(), {
      help: 'questions, one a line: {"id","question","answers"}',
      placeholder: "FILE.jsonl",
    }),
    json: JSON_OBJECT,
  },
  library: { readQuestions, readPredictions, evaluateAnswers },
  example: "reatt evaluate answers --predictions answers.jsonl --data questions.jsonl",
  async run({ predictions, data, json }, signal, _, library) {
    const { readQuestions, readPredictions, evaluateAnswers } = library;
    const questions = await readQuestions(data, signal);
    if (!questions.some(({ answers }) => answers))
      throw new InputError({
        where: data,
        expected: '"answers" of the questions',
        got: "none",
        remedy: "name the file with the accepted answers",
      });
    const predicted = await readPredictions(predictions);
    if (predicted.size === 0) throw noPredictions(predictions);
    const { measures, ...counts } = evaluateAnswers(predicted, questions);
    if (counts.unanswered === counts.questions) throw nothingShared(predictions, "questions", data);
    if (json) return print(JSON.stringify({ ...counts, ...measures }));
    const none = counts.unanswerable === 0 ? "" : `, ${counts.unanswerable} without an answer`;
    print(
      `${counts.questions} questions, ${counts.unanswered} of them without a prediction${none}`,
    );
    print(formatMeasures(measures));
  },
});

/** One line for each measure. The values of a measure at several ranks share its line. */
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

/** "1,10,5" -> [1, 5, 10]; text that is not a list of ranks stays text. */
function parseCutoffs(given: string): unknown {
  const parts = given.split(",");
  if (!parts.every((part) => /^\s*0*[1-9]\d*\s*$/.test(part))) return given;
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

/**
 * @param least 0 if questions may have no accepted answer
 * @throws {InputError} unless every question has so many accepted answers
 */
export function checkAnswers(questions: readonly Question[], data: string, least: 0 | 1): void {
  const without = questions.find(({ answers }) => (answers?.length ?? -1) < least);
  if (!without) return;
  throw new InputError({
    where: data,
    expected: '"answers" of every question',
    got: `none of question "${without.id}"`,
    remedy:
      least === 0
        ? "add its accepted answers, or [] if the documents do not answer it"
        : "add its accepted answers or remove the question",
  });
}

const noPredictions = (where: string): InputError =>
  new InputError({
    where,
    expected: "at least one prediction",
    got: "none",
    remedy: "write what `reatt answer --queries FILE --json` prints",
  });

function nothingShared(where: string, what: string, other: string): InputError {
  return new InputError({
    where,
    expected: `${what} of ${other}`,
    got: "none of them",
    remedy: "name two files that belong together",
  });
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
