/** `reatt answer`: answers with the passages that they came from. */

import { type Hit, ReAtt, type Reply } from "../reatt.ts";
import { formatReply } from "./human.ts";
import { type Command, defineCommand } from "./options.ts";
import { withProgress } from "./progress.ts";
import { QUESTION_OPTIONS, questionsOf } from "./questions.ts";

export const answerCommand: Command = defineCommand({
  name: "answer",
  summary: "Answers questions, and shows the passages that the answers came from.",
  options: {
    ...QUESTION_OPTIONS,
    "top-k": { kind: "integer", help: "passages that are read", default: 10, minimum: 1 },
    beams: { kind: "integer", help: "beams of the search; 1 is greedy", default: 1, minimum: 1 },
    "max-answer-tokens": {
      kind: "integer",
      help: "longer answers are cut",
      default: 50,
      minimum: 1,
    },
    "max-input-tokens": {
      kind: "integer",
      help: "cut question and passage together; without it, a passage is read as it was indexed",
      minimum: 4,
    },
    json: { kind: "flag", help: "one JSON object for a question on each line" },
  },
  async run(values, signal) {
    const questions = await questionsOf(values, signal);
    await using model = await ReAtt.load(values.model);
    await using index = await model.openIndex(values.index);
    const texts = questions.map(({ question }) => question);
    const replies = model.answer(texts, index, {
      topK: values["top-k"],
      beams: values.beams,
      maxAnswerTokens: values["max-answer-tokens"],
      maxInputTokens: values["max-input-tokens"],
      signal,
    });
    let position = 0;
    for await (const reply of withProgress("questions", questions.length, replies, true)) {
      const { id, question } = questions[position++]!;
      process.stdout.write(
        `${values.json ? toJson(id, reply) : formatReply(question, reply, hasBold())}\n`,
      );
    }
  },
});

function toJson(
  id: string,
  { answer, tokenIds, confidence, abstained, passages }: Reply<Hit>,
): string {
  const evidence = passages.map(({ id, score, attention, span, title, text }) => ({
    id,
    score,
    attention,
    span,
    title,
    text,
  }));
  return JSON.stringify({ id, answer, tokenIds, confidence, abstained, passages: evidence });
}

/** Not on a terminal that is dumb, nor where NO_COLOR is set. */
function hasBold(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors();
}
