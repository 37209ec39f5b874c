/**
 * What is read of passages: a passage as it is, or the windows of one that is too long
 * (text/windows.ts). The decoder attends to all windows together, as to passages of their own.
 */

import type { StoredStates } from "../encoder/state-cache.ts";
import { PASSAGES_READ } from "../options/search-request.ts";
import type { PassageInput } from "../text/passage.ts";
import { termsOf } from "../text/terms.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { windowsOf } from "../text/tokens/windows.ts";

/** A passage to read, with what a search found of it. */
export interface PassageToRead<P extends PassageInput> {
  readonly passage: P;
  /** r(x, z), the retrieval score. */
  readonly score?: number | undefined;
  readonly states?: StoredStates | undefined;
}

/** A part of a passage that is read at once, with what a search found of the passage. */
export interface ReadWindow extends PassageToRead<PassageInput> {
  /** The position of its passage. */
  readonly owner: number;
  /** Where its text begins in the text of the passage. */
  readonly start: number;
}

export interface ReadWindows {
  /** In the order of the passages. */
  readonly windows: readonly ReadWindow[];
  /** For each passage, the number of its tokens that stand in no window that is read. */
  readonly unread: readonly number[];
}

/** Passages as they are, without windows. */
export const wholePassages = (passages: readonly PassageToRead<PassageInput>[]): ReadWindows => ({
  windows: passages.map((own, owner) => ({ ...own, owner, start: 0 })),
  unread: passages.map(() => 0),
});

/** Of more windows, those with the words of the question are compared by the model. */
const MAX_COMPARED = 40;

/**
 * The windows that are read of passages: all of them, if they are no more than the passages, or
 * than ten. Otherwise these many: the best window of each passage, then the best of the others. At
 * most 40 windows, and one of each passage, are compared by the model, so that the time for a
 * question does not grow with the length of a passage.
 *
 * @param maxTokens of a window
 * @param scoresOf the retrieval scores of passages
 */
export async function chooseWindows(
  tokenizer: Tokenizer,
  question: string,
  passages: readonly PassageToRead<PassageInput>[],
  maxTokens: number,
  scoresOf: (passages: readonly PassageInput[]) => Promise<readonly number[]>,
): Promise<ReadWindows> {
  const all = passages.flatMap((own, owner) => divided(tokenizer, own, owner, maxTokens));
  const unread = passages.map(({ passage: { title = "" } }, own) => {
    const read = all.find(({ owner }) => owner === own)!.passage.title ?? "";
    return tokenizer.encode(title.slice(read.length)).length;
  });
  const most = Math.max(passages.length, PASSAGES_READ);
  if (all.length <= most) return { windows: all, unread };
  const compared = bestOf(all, sharedTerms(question, all), Math.max(MAX_COMPARED, most));
  const scores = new Array<number>(all.length).fill(-Infinity);
  const found = await scoresOf(compared.map((i) => all[i]!.passage));
  for (const [row, i] of compared.entries()) scores[i] = found[row]!;
  const chosen = new Set(bestOf(all, scores, most));
  for (const [i, window] of all.entries()) {
    const next = chosen.has(i + 1) ? all[i + 1] : undefined;
    if (!chosen.has(i))
      unread[window.owner]! += tokenizer.encode(ownText(window, all[i - 1], next)).length;
  }
  return { windows: all.filter((_, i) => chosen.has(i)), unread };
}

/** The positions, ascending, of the best window of each passage and the best of the others. */
function bestOf(
  windows: readonly ReadWindow[],
  scores: readonly number[],
  most: number,
): readonly number[] {
  const ranked = [...windows.keys()].sort((a, b) => scores[b]! - scores[a]!);
  const best = new Map(ranked.toReversed().map((i) => [windows[i]!.owner, i]));
  const chosen = new Set(best.values());
  for (const i of ranked) if (chosen.size < most) chosen.add(i);
  return [...chosen].sort((a, b) => a - b);
}

/** For each window, how many different terms of a question it has. */
function sharedTerms(question: string, windows: readonly ReadWindow[]): number[] {
  if (windows.length <= MAX_COMPARED) return windows.map(() => 0);
  const asked = [...new Set(termsOf(question))];
  return windows.map(({ passage: { text } }) => {
    const own = new Set(termsOf(text));
    return asked.filter((term) => own.has(term)).length;
  });
}

/** The text of a window that is not a part of the window before it, or of the one that follows. */
function ownText(
  { owner, start, passage: { text } }: ReadWindow,
  before: ReadWindow | undefined,
  next: ReadWindow | undefined,
): string {
  const from = before?.owner === owner ? before.start + before.passage.text.length - start : 0;
  const to = next?.owner === owner ? next.start - start : text.length;
  return text.slice(Math.max(0, from), to);
}

function divided(
  tokenizer: Tokenizer,
  found: PassageToRead<PassageInput>,
  owner: number,
  maxTokens: number,
): ReadWindow[] {
  const parts = windowsOf(tokenizer, found.passage, maxTokens);
  if (parts[0]!.text === found.passage.text && parts[0]!.title === (found.passage.title ?? ""))
    return [{ ...found, owner, start: 0 }];
  return parts.map(({ title, text, start }) => {
    return { passage: { id: found.passage.id, title, text }, score: found.score, owner, start };
  });
}
