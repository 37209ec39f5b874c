/** `reatt evaluate utility`: how much retrieved passages help the reader. */

import { evaluateUtility, type UtilityEvaluation } from "../../../evaluation/utility.ts";
import { ANSWER_OPTIONS, PASSAGES_READ, RANK_OPTIONS } from "../../../options/library-options.ts";
import { option, text, withDefault } from "../../../options/option.ts";
import { defineCommand } from "../../line/command.ts";
import { startProgress } from "../../output/progress.ts";
import { JSON_OBJECT } from "../../shared/file-options.ts";
import { type OpenSearch, searchOptions, withSearch } from "../../shared/search.ts";
import { checkAnswers, formatMeasures } from "./evaluate.ts";

const { question, queries, ids, json, explain, linkBase, ...SEARCH } = searchOptions(
  withDefault(RANK_OPTIONS.topK, PASSAGES_READ),
);
const { maxInputTokens } = ANSWER_OPTIONS;

export const evaluateUtilityCommand = defineCommand({
  options: {
    ...SEARCH,
    data: option(text(), {
      help: 'questions, one a line: {"id","question","answers"}',
      placeholder: "FILE.jsonl",
    }),
    json: JSON_OBJECT,
    maxInputTokens,
  },
  example: "reatt evaluate utility --index index --data questions.jsonl --top-k 5",
  run(values, signal) {
    const { data, json, maxInputTokens } = values;
    const search = { question: undefined, queries: data, ids: undefined, json: false };
    return withSearch({ ...values, ...search, explain: false }, signal, async (open) => {
      checkAnswers(open.questions, data, 1);
      const result = evaluateUtility(await utilities(open, maxInputTokens));
      process.stdout.write(`${json ? JSON.stringify(result) : format(result)}\n`);
    });
  },
});

async function utilities(
  { model, index, questions, options }: OpenSearch,
  maxInputTokens: number | undefined,
): Promise<number[][]> {
  const { maxPassageTokens } = index.header;
  const reading = { maxPassageTokens, maxInputTokens, signal: options.signal };
  const all: number[][] = [];
  const progress = startProgress("questions", questions.length);
  try {
    for (const { question, answers } of questions) {
      const hits = await model.retrieve(question, index, options);
      all.push(await model.retrievalUtility(question, answers!, hits, reading));
      progress.update(all.length);
    }
  } finally {
    progress.stop();
  }
  return all;
}

function format({ questions, byRank, helped }: UtilityEvaluation): string {
  const measures = Object.fromEntries(byRank.map((value, i) => [`utility@${i + 1}`, value]));
  return `${questions} questions\n${formatMeasures({ helped, ...measures })}`;
}
