/** Questions of a training file as examples. Source: ReAtt (Jiang et al. 2022), section 3. */

import type { Example } from "../example.ts";
import type { TrainingQuestion } from "../training-questions.ts";

export const questionExamples = (questions: readonly TrainingQuestion[]): Example[] =>
  questions.map(({ id, question, answers, passageId, contexts, scores }) => ({
    id,
    question,
    answers,
    relevant: passageId === undefined ? [] : [passageId],
    contexts,
    scores,
  }));
