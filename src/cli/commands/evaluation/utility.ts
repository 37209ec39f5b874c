/** `reatt evaluate utility`: how much retrieved passages help the reader. */

import { UTILITY_OPTIONS, type UtilityOptions } from "../../../decoder/retrieval-utility.ts";
import { evaluateUtility, type UtilityEvaluation } from "../../../evaluation/utility.ts";
import { option, text, valuesOf, withDefault } from "../../../options/option.ts";
import { PASSAGES_READ, RANK_OPTIONS } from "../../../options/search-request.ts";
import { defineCommand } from "../../line/command.ts";
import { startProgress } from "../../output/progress.ts";
import { JSON_OBJECT } from "../../shared/file-options.ts";
import { type OpenSearch, searchOptions, withSearch } from "../../shared/search.ts";
import { checkAnswers, formatMeasures } from "./evaluate.ts";

const { question, queries, ids, explain, linkBase, ...SEARCH } = searchOptions(
  withDefault(RANK_OPTIONS.topK, PASSAGES_READ),
);
const { maxPassageTokens, signal, ...READING } = UTILITY_OPTIONS;

export const evaluateUtilityCommand = defineCommand({
  options: {
    ...SEARCH,
    data: option(text(), {
      help: 'questions, one a line: {"id","question","answers"}',
      placeholder: "FILE.jsonl",
      own: true,
    }),
    json: JSON_OBJECT,
    ...READING,
  },
  example: "reatt evaluate utility --index index --data questions.jsonl --top-k 5",
  run(values, signal) {
    const { data, json } = values;
    return withSearch({ ...values, queries: data }, signal, async (open) => {
      checkAnswers(open.questions, data, 1);
      const result = evaluateUtility(await utilities(open, valuesOf(READING, values)));
      process.stdout.write(`${json ? JSON.stringify(result) : format(result)}\n`);
    });
  },
});

async function utilities(
  { model, index, questions, options }: OpenSearch,
  limits: UtilityOptions,
): Promise<number[][]> {
  const { maxPassageTokens } = index.header;
  const reading = { ...limits, maxPassageTokens, signal: options.signal };
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
