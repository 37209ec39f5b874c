/** `reatt answer`: answers with the passages that they come from. */

import {
  choice,
  defaultOf,
  infoOf,
  option,
  type Resolved,
  valuesOf,
} from "../../options/option.ts";
import {
  ANSWER_OPTIONS,
  PASSAGES_RETURNED,
  READ_TOP_K,
  READERS,
  UNANSWERED,
} from "../../options/search-request.ts";
import { ANSWER } from "../../reatt/options.ts";
import type { AnswerOptions, Phrase } from "../../reatt.ts";
import { PHRASE_OPTIONS } from "../../retrieval/search-phrases.ts";
import { phrasesToJson, replyToJson } from "../../server/service/results.ts";
import { defineCommand } from "../line/command.ts";
import { formatPhrases, formatReply } from "../output/human.ts";
import { withProgress } from "../output/progress.ts";
import { hasStyles } from "../output/styles.ts";
import { flagOf } from "../shared/flag-name.ts";
import {
  type OpenSearch,
  QUESTION,
  questionOf,
  SEARCH,
  searchOptions,
  UnreadableQuestions,
  withSearch,
} from "../shared/search.ts";
import { UsageError } from "../shared/usage-error.ts";

const { reader, ...READING } = { ...READ_TOP_K, ...ANSWER_OPTIONS, ...UNANSWERED };

const OPTIONS = {
  ...searchOptions(ANSWER.topK),
  distinct: ANSWER.distinct,
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
  const texts = questions.map(({ question }) => question);
  const reading = valuesOf(READING, values);
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
  const { topK = PASSAGES_RETURNED } = options;
  const search = { ...valuesOf(PHRASE_OPTIONS, options), topK };
  const texts = questions.map(({ question }) => question);
  for (let first = 0; first < texts.length; first += QUESTIONS_PER_BATCH)
    yield* await model.phrases(texts.slice(first, first + QUESTIONS_PER_BATCH), index, search);
}

/** @throws {UsageError} for an option that has no effect without a reader */
function checkUnread(values: Values): void {
  const table = { ...READING, ...SEARCH, distinct: ANSWER.distinct };
  const names = Object.keys(table) as (keyof typeof table)[];
  const first = names.find(
    (name) => !(name in PHRASE_OPTIONS) && values[name] !== defaultOf(table[name]),
  );
  if (first !== undefined) throw new UsageError(`--${flagOf(first)} with --reader none`);
}
