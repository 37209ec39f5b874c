/** `reatt answer`: answers with the passages that they come from. */

import { ANSWER_OPTIONS, PASSAGES_READ } from "../options/library-options.ts";
import type { Hit, Reply } from "../reatt.ts";
import { defineCommand } from "./command.ts";
import { formatReply } from "./human.ts";
import { withProgress } from "./progress.ts";
import { searchOptions, withSearch } from "./search.ts";

const { beams, maxAnswerTokens, maxInputTokens } = ANSWER_OPTIONS;

export const answerCommand = defineCommand({
  options: {
    ...searchOptions(PASSAGES_READ),
    ...{ beams, maxAnswerTokens, maxInputTokens },
  },
  example:
    "reatt answer --model models/reatt-mini --index index " +
    '--question "Where is Normandy?" --top-k 5',
  run: (values, signal) =>
    withSearch(values, signal, async ({ model, index, questions, options }) => {
      const { json, beams, maxAnswerTokens, maxInputTokens } = values;
      const texts = questions.map(({ question }) => question);
      const reading = { beams, maxAnswerTokens, maxInputTokens };
      const replies = model.answer(texts, index, { ...options, ...reading });
      let position = 0;
      for await (const reply of withProgress("questions", questions.length, replies, true)) {
        const { id, question } = questions[position++]!;
        const shown = json ? toJson(id, reply) : formatReply(question, reply, hasBold());
        process.stdout.write(`${shown}\n`);
      }
    }),
});

function toJson(id: string, reply: Reply<Hit>): string {
  const { answer, tokenIds, confidence, abstained } = reply;
  const passages = reply.passages.map(({ id, score, attention, span, title, text }) => ({
    ...{ id, score, attention, span, title, text },
  }));
  return JSON.stringify({ id, answer, tokenIds, confidence, abstained, passages });
}

/** Whether stdout is a terminal with styles and NO_COLOR is not set. */
const hasBold = (): boolean => process.stdout.isTTY && process.stdout.hasColors();
