/**
 * Accepted answers that are regular expressions, as those of CuratedTREC (Baudiš and Šedivý 2015):
 * an answer that begins with `regex:`, `regex:19(04|05)`. Slashes around it would not do: folders
 * are answers, too. As in DPR, case does not matter, and `^` and `$` stand at lines. Text and
 * expression are compared in NFC, where a letter with its accent is one character; DPR has NFD.
 *
 * Source: `regex_match` of https://github.com/facebookresearch/DPR, qa_validation.py.
 */

import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { Recent } from "../math/recent.ts";
import { normalizeText } from "../text/normalize.ts";

const WRITTEN = /^regex:(.+)$/s;
/** Longer texts are looked at as far as this: no passage of an index is as long. */
const MAX_TEXT = 20_000;
const MAX_EXPRESSION = 10_000;

/** Whether an accepted answer is an expression. */
export const isExpression = (answer: string): boolean => WRITTEN.test(answer);

const compiled = new Recent<RegExp>(2 ** 20, (_, answer) => 2 * answer.length + 200);

/** The expression of an answer; undefined for a text. */
export function expressionOf(answer: string): RegExp | undefined {
  const [, source] = WRITTEN.exec(answer) ?? [];
  return source === undefined ? undefined : compiled.of(answer, () => compile(answer, source));
}

/** Whether an expression matches somewhere in a text, or with `atStart` at its start. */
export function matchesExpression(expression: RegExp, text: string, atStart = false): boolean {
  const found = expression.exec(normalizeText(text.slice(0, MAX_TEXT), "NFC"));
  return found !== null && (!atStart || found.index === 0);
}

/** @throws {InputError} for an expression that cannot be compiled, or whose time could explode */
export function checkExpressions(answers: readonly string[], where: string): void {
  for (const answer of answers)
    try {
      expressionOf(answer);
    } catch (cause) {
      if (!(cause instanceof InputError)) throw cause;
      const { expected, got, remedy } = cause;
      throw new InputError({ where, expected, got, remedy }, { cause });
    }
}

function compile(answer: string, source: string): RegExp {
  const problem = (got: string): InputError =>
    new InputError({
      where: "answers",
      expected: "a regular expression after regex:",
      got,
      remedy: "correct it",
    });
  if (source.length > MAX_EXPRESSION) throw problem(`one of ${source.length} characters`);
  if (repeatsRepeats(source))
    throw problem(
      `${excerpt(answer)}, which repeats a group with a repetition: it could take years`,
    );
  const normal = source.normalize("NFC");
  for (const flags of ["imu", "im"]) // Python's escapes, such as \-, are those without u
    try {
      return new RegExp(normal, flags);
    } catch {
      // the other flags, or the error below
    }
  throw problem(excerpt(answer));
}

/** Of any number of times: `*`, `+`, `{2,}`; not `?` and `{2}`. */
const REPETITION = /^(?:[*+]|\{\d+,\d*\})/;

/** Whether a group that has a repetition or alternatives is repeated: `(a+)*`, `(a|b)+`. */
function repeatsRepeats(source: string): boolean {
  const open: boolean[] = []; // of each open group, whether it has one
  for (let i = 0; i < source.length; i++) {
    const character = source[i]!;
    if (character === "\\") i++;
    else if (character === "[") i = endOfClass(source, i);
    else if (character === "(") open.push(false);
    else if (character === ")") {
      const has = open.pop() ?? false;
      const isRepeated = REPETITION.test(source.slice(i + 1, i + 24));
      if (has && isRepeated) return true;
      if ((has || isRepeated) && open.length > 0) open[open.length - 1] = true;
    } else if (open.length > 0 && (character === "|" || REPETITION.test(source.slice(i, i + 24))))
      open[open.length - 1] = true;
  }
  return false;
}

/** Where a class ends, `[^]...]` at its second bracket as in Python. */
function endOfClass(source: string, start: number): number {
  for (let i = start + 1; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === "]") return i;
  }
  return source.length;
}
