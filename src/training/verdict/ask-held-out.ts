/** Asks a model held-out questions, with and without an answer in the passages. */

import { containsAnswer, exactMatch } from "../../evaluation/answers.ts";
import type { AskedQuestion } from "../../evaluation/recalibrate.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { hitLists } from "../../reatt/retrieving.ts";
import type { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { MASK } from "../examples/example.ts";
import type { MonitorQuestion } from "../examples/training-data.ts";
import { isRelevant, type MeasuredSet } from "./measured-set.ts";

/** Passages among which those with an answer are hidden. */
const SEARCHED = 50;

/** Whether a person asked it, and the answer is known. Masked sentences are no questions. */
const isAskable = ({ question, answers = [] }: MonitorQuestion): boolean =>
  answers.length > 0 && !question.includes(MASK);

/**
 * Asks each question twice: as it is, and without the passages that are relevant or contain an
 * accepted answer, which leaves near ones without an answer.
 *
 * @param isOver whether to leave the other questions out
 */
export async function* askHeldOut(
  model: ReAtt,
  index: TokenIndex,
  { questions, groups, lexical, sees }: MeasuredSet,
  isOver: () => boolean,
): AsyncGenerator<ProgressEvent, AskedQuestion[]> {
  const places = new Map(lexical.ids.map((id, place) => [id, place]));
  const asked = [...questions.entries()].filter(([, one]) => isAskable(one));
  yield { type: "stage", name: "asking held-out questions for calibration", total: asked.length };
  return yield* reporting<ProgressEvent, AskedQuestion[]>(async (report) => {
    const all: AskedQuestion[] = [];
    for (const [done, [i, one]] of asked.entries()) {
      if (isOver()) break;
      const group = `${groups[i]}`;
      const sight = sees?.[i] ?? (() => true);
      const answering = await idsWithAnswer(model, index, one, sight);
      const hidden = new Set(answering.flatMap((id) => places.get(id) ?? []));
      const others = (place: number): boolean => !hidden.has(place) && sight(place);
      all.push({ group, ...(await ask(model, index, one, sight)) });
      all.push({ group, ...(await ask(model, index, { ...one, answers: [] }, others)) });
      report({ type: "progress", done: done + 1 });
    }
    return all;
  });
}

type Sight = (place: number) => boolean;

/** The passages that answer a question, as far as search finds them. */
async function idsWithAnswer(
  model: ReAtt,
  index: TokenIndex,
  { question, answers = [], relevant }: MonitorQuestion,
  filter: Sight,
): Promise<string[]> {
  const [hits] = await hitLists(model.retrieve([question], index, { topK: SEARCHED, filter }));
  const answering = hits!.filter(({ text }) => containsAnswer(text, answers));
  return [...relevant, ...answering.map(({ id }) => id)];
}

/** @param one without answers if no passage that is seen has one */
async function ask(
  model: ReAtt,
  index: TokenIndex,
  one: MonitorQuestion,
  filter: Sight,
): Promise<Omit<AskedQuestion, "group">> {
  const reply = await model.answer(one.question, index, { filter, minimumConfidence: 0 });
  const { answer, signals } = reply;
  const accepted = one.answers ?? [];
  const isRight = accepted.length > 0 && exactMatch(answer, accepted);
  const answers = (block: { readonly id: string; readonly text: string }): boolean =>
    accepted.length > 0 && containsAnswer(block.text, accepted) && isRelevant(one, block);
  return {
    answer: signals && answer !== "" ? { signals, correct: isRight } : undefined,
    blocks: reply.evidence.flatMap((block) =>
      block.signals ? { signals: block.signals, correct: answers(block) } : [],
    ),
  };
}
