/** `reatt answer`: answers with the passages that they come from. */

import { ANSWER_OPTIONS, PASSAGES_READ } from "../options/library-options.ts";
import { replyToJson } from "../server/results.ts";
import { defineCommand } from "./command.ts";
import { formatReply } from "./human.ts";
import { withProgress } from "./progress.ts";
import { searchOptions, withSearch } from "./search.ts";
import { hasStyles } from "./styles.ts";

const { beams, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence } = ANSWER_OPTIONS;

export const answerCommand = defineCommand({
  options: {
    ...searchOptions(PASSAGES_READ, "true if the model stores weights"),
    ...{ beams, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence },
  },
  example: 'reatt answer --index index --question "Where is Normandy?" --top-k 5',
  run: (values, signal) =>
    withSearch(values, true, signal, async ({ model, index, questions, options }) => {
      const { json, beams, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence } =
        values;
      const texts = questions.map(({ question }) => question);
      const reading = { beams, maxAnswerTokens, maxInputTokens, extractive, minimumConfidence };
      const replies = model.answer(texts, index, { ...options, ...reading });
      let position = 0;
      for await (const reply of withProgress("questions", questions.length, replies, true)) {
        const { id, question } = questions[position++]!;
        const shown = json
          ? JSON.stringify(replyToJson(id, reply))
          : formatReply(question, reply, hasStyles(process.stdout));
        process.stdout.write(`${shown}\n`);
      }
    }),
});
