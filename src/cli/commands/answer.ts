/** `reatt answer`: answers with the passages that they come from. */

import {
  ANSWER_OPTIONS,
  PASSAGES_RETURNED,
  RANK_OPTIONS,
  READ_TOP_K,
  READERS,
} from "../../options/library-options.ts";
import { choice, defaultOf, infoOf, option, type Resolved } from "../../options/option.ts";
import type { AnswerOptions, Phrase } from "../../reatt.ts";
import { phrasesToJson, replyToJson } from "../../server/service/results.ts";
import { defineCommand } from "../line/command.ts";
import { formatPhrases, formatReply } from "../output/human.ts";
import { withProgress } from "../output/progress.ts";
import { hasStyles } from "../output/styles.ts";
import { flagOf } from "../shared/flag-name.ts";
import {
  ANSWER_TOP_K,
  type OpenSearch,
  QUESTION,
  questionOf,
  searchOptions,
  UnreadableQuestions,
  withSearch,
} from "../shared/search.ts";
import { UsageError } from "../shared/usage-error.ts";

const { reader, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence } = ANSWER_OPTIONS;
const { readTopK } = READ_TOP_K;
const READING = { readTopK, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence };

/** Options that have no effect without a reader. */
const UNREAD = { ...READING, minScore: RANK_OPTIONS.minScore, explain: RANK_OPTIONS.explain };

const OPTIONS = {
  ...searchOptions(ANSWER_TOP_K),
  reader: option(choice(...READERS, "none").default("fusion"), {
    help:
      `${infoOf(reader).help}; none: answer with the best phrase of each passage (with ` +
      "--hybrid, of those that hybrid search finds), for which the model needs phrase queries",
    group: infoOf(reader).group!,
  }),
  ...READING,
};

type Values = Resolved<typeof OPTIONS>;

export const answerCommand = defineCommand({
  options: OPTIONS,
  operands: QUESTION,
  example: 'reatt answer "Where is Normandy?" --index index',
  run(values, signal, words) {
    const { reader } = values;
    const search = { ...values, question: questionOf(values, words) };
    if (reader !== "none") return withSearch(search, signal, (open) => read(open, values, reader));
    checkUnread(values);
    const hybrid = values.lambda === undefined ? (values.hybrid ?? false) : values.hybrid;
    return withSearch({ ...search, hybrid }, signal, (open) => find(open, values));
  },
});

async function read(
  { model, index, questions, options }: OpenSearch,
  values: Values,
  reader: AnswerOptions["reader"],
) {
  const { readTopK, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence } = values;
  const reading = { readTopK, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence };
  const texts = questions.map(({ question }) => question);
  const replies = model.answer(texts, index, { ...options, ...reading, reader });
  let position = 0;
  const failures = new UnreadableQuestions(questions.length);
  for await (const reply of withProgress("questions", questions.length, replies, true)) {
    const asked = questions[position++]!;
    const { id, question } = asked;
    if (reply.error) failures.report(asked, reply.error);
    const shown = values.json
      ? JSON.stringify(replyToJson(id, reply))
      : formatReply(question, reply, hasStyles(process.stdout), reader);
    process.stdout.write(`${shown}\n`);
  }
  failures.check();
}

/** Answers with the best phrase of each passage or document. */
async function find(open: OpenSearch, { json }: Values) {
  const { questions } = open;
  let position = 0;
  for await (const phrases of withProgress("questions", questions.length, phrasesOf(open), true)) {
    const { id, question } = questions[position++]!;
    const shown = json
      ? JSON.stringify(phrasesToJson(id, phrases))
      : formatPhrases(question, phrases, hasStyles(process.stdout));
    process.stdout.write(`${shown}\n`);
  }
}

/** Questions that share a pass over the index. */
const QUESTIONS_PER_BATCH = 16;

async function* phrasesOf({
  model,
  index,
  questions,
  options,
}: OpenSearch): AsyncGenerator<Phrase[], void> {
  const {
    granularity = "passage",
    topK = PASSAGES_RETURNED,
    where,
    filter,
    hybrid,
    signal,
  } = options;
  const texts = questions.map(({ question }) => question);
  for (let first = 0; first < texts.length; first += QUESTIONS_PER_BATCH)
    yield* await model.phrases(texts.slice(first, first + QUESTIONS_PER_BATCH), index, {
      granularity,
      topK,
      where,
      filter,
      hybrid,
      signal,
    });
}

/** @throws {UsageError} for an option that has no effect without a reader */
function checkUnread(values: Values): void {
  const names = Object.keys(UNREAD) as (keyof typeof UNREAD)[];
  const first = names.find((name) => values[name] !== defaultOf(UNREAD[name]));
  if (first !== undefined) throw new UsageError(`--${flagOf(first)} with --reader none`);
}
