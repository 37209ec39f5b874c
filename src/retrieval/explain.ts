/**
 * Why a passage was found: for each token of the question, the token of the passage that matches
 * best. The retrieval score is the mean of their products (ReAtt, Eq. 1).
 */

import { mean } from "../math/mean.ts";
import type { Passage } from "../text/passage.ts";
import { type Span, spanInside } from "../text/span.ts";
import { passagePrompt, placesInPrompt, questionPrompt } from "../text/tokens/prompts.ts";
import { tokenSpans } from "../text/tokens/token-spans.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
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
  readonly passage: Passage;
  /** The token ids of the passage as it was indexed. */
  readonly passageIds: readonly number[];
  /** The position among `passageIds` of each token key; undefined if all tokens have one. */
  readonly kept: readonly number[] | undefined;
  /** For each token of the question. */
  readonly matches: readonly TokenMatch[];
}

export function explanationOf(
  tokenizer: Tokenizer,
  { question, passage, passageIds, kept, matches }: Explained,
): Explanation {
  const questionStart = questionPrompt("").length;
  const questionSpans = tokenSpans(tokenizer, questionPrompt(question.text), question.ids);
  const found = tokenSpans(tokenizer, passagePrompt(passage), passageIds);
  const placeOf = placesInPrompt(passage, true);
  const tokens = matches.map(({ key, score }, i) => {
    const position = kept?.[key] ?? key;
    return {
      token: nameOf(tokenizer, question.ids[i]!),
      span: questionSpans[i] && spanInside(questionSpans[i], questionStart, question.text.length),
      score,
      match: {
        token: nameOf(tokenizer, passageIds[position]!),
        ...(found[position] && placeOf(found[position])),
      },
    };
  });
  return { score: mean(matches.map(({ score }) => score)), tokens };
}

/** `</s>` decodes to no text. */
const nameOf = (tokenizer: Tokenizer, id: number): string =>
  id === tokenizer.eosId ? "</s>" : tokenizer.decode([id]);
