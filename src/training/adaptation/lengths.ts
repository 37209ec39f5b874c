/** Mean lengths of passages, questions and answers, from a sample. Estimates are based on them. */

import { mean } from "../../math/mean.ts";
import { createRandom } from "../../math/random.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { Run } from "../run/run.ts";
import type { AdaptationSample } from "./samples.ts";
import type { TokenLengths } from "./work.ts";

/** Number of passages from which mean lengths are estimated. */
const SAMPLED_PASSAGES = 200;
/** The passage limit of `reatt index`. The index of an adapted model has it too. */
export const INDEX_PASSAGE_TOKENS = 512;

export interface MeanLengths extends TokenLengths {
  /** Tokens of a passage in the index. */
  readonly indexed: number;
  /** UTF-16 code units of a passage. */
  readonly characters: number;
  /** Share of a passage's tokens that are unknown. */
  readonly unknown: number;
}

export async function meanLengths(
  { batch: { maxPassageTokens, maxAnswerTokens }, seed }: Run,
  corpus: Corpus,
  tokenizer: Tokenizer,
  samples: readonly AdaptationSample[],
): Promise<MeanLengths> {
  const tokens: number[] = [];
  const unknown: number[] = [];
  const characters: number[] = [];
  const isSampled = (id: string): boolean =>
    createRandom(seed, "length", id).next() * corpus.size < SAMPLED_PASSAGES;
  for await (const passage of corpus.passages(isSampled)) {
    const ids = passageIds(tokenizer, passage, INDEX_PASSAGE_TOKENS);
    tokens.push(ids.length);
    unknown.push(ids.filter((id) => id === tokenizer.unknownId).length);
    characters.push(passage.title.length + passage.text.length);
  }
  return {
    passage: mean(tokens.map((length) => Math.min(length, maxPassageTokens))),
    indexed: mean(tokens),
    characters: mean(characters),
    unknown: mean(unknown) / mean(tokens),
    question: mean(samples.map(({ question }) => retrievalQuestionIds(tokenizer, question).length)),
    answer: mean(
      samples.map(({ answer }) => Math.min(maxAnswerTokens, tokenizer.encode(answer).length + 1)),
    ),
  };
}
