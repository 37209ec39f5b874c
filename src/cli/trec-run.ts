/** Writes a run as trec_eval reads it: `query Q0 document rank score tag`, one line a hit. */

import { InputError } from "../errors.ts";

const TAG = "reatt";

/** One line for each hit of a question, best first. */
export function trecRunLines(
  questionId: string,
  hits: readonly { readonly id: string; readonly score: number }[],
): string {
  return hits
    .map(({ id, score }, index) => `${field(questionId)} Q0 ${field(id)} ${index + 1} ${score} ${TAG}\n`)
    .join("");
}

/** The format has no quotes: an id with white space would be two fields. */
function field(id: string): string {
  if (!/\s/.test(id)) return id;
  throw new InputError({
    where: "--run",
    expected: "ids without white space",
    got: JSON.stringify(id),
    remedy: "use --json, or rename it",
  });
}
