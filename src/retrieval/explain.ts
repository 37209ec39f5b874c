/**
 * Why a passage was found: for each token of the question, the token of the passage that matches
 * best. The retrieval score is the mean of their products (ReAtt, Eq. 1).
 */

import type { IndexedTokens } from "../encoder/passage-keys.ts";
import { mean } from "../math/mean.ts";
import { type Span, spanInside } from "../text/span.ts";
import { passagePrompt, placesInPrompt, questionPrompt } from "../text/tokens/prompts.ts";
import { tokenSpans } from "../text/tokens/token-spans.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import type { TokenizedWindow } from "../text/tokens/windows.ts";
import type { TokenMatch } from "./search/passage-scorer.ts";

/** A token of a passage. */
export interface MatchedToken {
  /** The token of the passage, as text. */
  readonly token: string;
  /** Where the token is; absent for a token of the prompt, such as `context:` or `</s>`. */
  readonly field?: "title" | "text" | undefined;
  /** The characters of the field; absent if there is no field. */
  readonly span?: Span | undefined;
}

/** A token of the question with its best token of the passage. */
export interface ExplainedToken {
  /** The token of the question, as text. */
  readonly token: string;
  /** The characters of the question; absent for a token of the prompt. */
  readonly span?: Span | undefined;
  /** The product of the vectors of both tokens. */
  readonly score: number;
  /** The token of the passage that matches best. */
  readonly match: MatchedToken;
}

export interface Explanation {
  /** The retrieval score of the passage: the mean of the scores of the tokens. */
  readonly score: number;
  /** The tokens of the question; none of a model with pooling. */
  readonly tokens: readonly ExplainedToken[];
}

interface Explained {
  readonly question: { readonly text: string; readonly ids: readonly number[] };
  /** The tokens of the passage as it was indexed. */
  readonly indexed: IndexedTokens;
  /** For each token of the question. */
  readonly matches: readonly TokenMatch[];
}

export function explanationOf(
  tokenizer: Tokenizer,
  { question, indexed: { windows, kept }, matches }: Explained,
): Explanation {
  const questionStart = questionPrompt("", tokenizer.prompts).length;
  const questionSpans = tokenSpans(
    tokenizer,
    questionPrompt(question.text, tokenizer.prompts),
    question.ids,
  );
  const matched = windows.flatMap((one) => matchedTokens(tokenizer, one));
  const tokens = matches.map(({ key, score }, i) => ({
    token: nameOf(tokenizer, question.ids[i]!),
    span: questionSpans[i] && spanInside(questionSpans[i], questionStart, question.text.length),
    score,
    match: matched[kept?.[key] ?? key]!,
  }));
  return { score: mean(matches.map(({ score }) => score)), tokens };
}

/** The tokens of a window, with their places in the whole passage. */
function matchedTokens(tokenizer: Tokenizer, { window, ids }: TokenizedWindow): MatchedToken[] {
  const found = tokenSpans(tokenizer, passagePrompt(window, tokenizer.prompts), ids);
  const placeOf = placesInPrompt(window, true, tokenizer.prompts);
  return ids.map((id, i) => {
    const place = found[i] && placeOf(found[i]);
    const from = place?.field === "text" ? window.start : 0;
    const span = place && { start: place.span.start + from, end: place.span.end + from };
    return { token: nameOf(tokenizer, id), ...(place && { field: place.field, span }) };
  });
}

/** `</s>` decodes to no text. */
const nameOf = (tokenizer: Tokenizer, id: number): string =>
  id === tokenizer.eosId ? "</s>" : tokenizer.decode([id]);
