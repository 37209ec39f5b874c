/** Where the questions of `retrieve` and `answer` come from: one on the command line, or a file of them. */

import { InputError } from "../io/errors.ts";
import { type Question, readQuestions } from "../text/read-passages.ts";
import { UsageError } from "./options.ts";

export const QUESTION_OPTIONS = {
  model: { kind: "text", placeholder: "DIR", help: "folder of the model", required: true },
  index: { kind: "text", placeholder: "DIR", help: "folder of the index", required: true },
  question: { kind: "text", placeholder: "TEXT", help: "the question" },
  queries: {
    kind: "text",
    placeholder: "FILE.jsonl",
    help: 'questions, one a line: {"_id","text"} or {"id","question"}',
  },
} as const;

/** The id that the question of the command line has in JSON and run files. */
const SINGLE_QUESTION_ID = "1";

export function questionsOf(
  {
    question,
    queries,
  }: { readonly question: string | undefined; readonly queries: string | undefined },
  signal: AbortSignal,
): Promise<readonly Question[]> | readonly Question[] {
  if (queries !== undefined && question === undefined) return readQuestions(queries, signal);
  if (question === undefined || queries !== undefined) {
    throw new UsageError("one of --question TEXT and --queries FILE.jsonl is needed");
  }
  if (question.trim() === "") {
    throw new InputError({
      where: "--question",
      expected: "a question",
      got: "no text",
      remedy: "write one",
    });
  }
  return [{ id: SINGLE_QUESTION_ID, question }];
}
