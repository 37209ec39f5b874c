/**
 * Phrase queries: two vectors of a question that are compared with the token keys of an index. A
 * phrase from token i to token j of a passage has the score
 *
 *     f(i, j) = q_start . k_i + q_end . k_j
 *
 * With x_t the normed state of question token t that the heads read, each of both vectors is
 *
 *     q = W [u_1; ...; u_H],   u_h = sum_t softmax_t(w_h . x_t) x_t
 *
 * The learned vectors w_h ("pool") choose the tokens that count, in place of BERT's [CLS].
 *
 * Source: Lee et al. 2021, Learning Dense Representations of Phrases at Scale (DensePhrases),
 * section 3.2. The keys are those of the retrieval head.
 */

import { retrievalWidth } from "../model/config.ts";
import { hiddenBias, linear } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import type { ModelParameters, PhraseQueryParameters } from "../model/parameters.ts";
import { normedStates } from "./retrieval-layers.ts";

/**
 * States of questions after the retrieval layers [batch, length, width], mask [batch, length] ->
 * [batch, 2, vectorSize], the vector of the start before that of the end.
 */
export function phraseQueries<T>(
  { ops, config }: LayerContext<T>,
  parameters: Pick<ModelParameters<T>, "querySide" | "phraseQueries">,
  states: T,
  mask: T,
): T {
  const { heads } = parameters.querySide;
  const normed = normedStates(ops, heads, states);
  const [batch, length] = ops.shape(mask);
  const hidden = hiddenBias(ops, mask);
  const bias = ops.reshape(hidden, [batch!, 1, length!]);
  const vector = ({ pool, projection }: PhraseQueryParameters<T>): T => {
    const weights = ops.transpose(linear(ops, pool, normed), [0, 2, 1]); // [batch, heads, length]
    const pooled = ops.matmul(ops.softmax(ops.add(weights, bias)), normed); // [.., width]
    const joined = ops.reshape(pooled, [batch!, 1, heads.sizes.heads * retrievalWidth(config)]);
    return linear(ops, projection, joined); // [batch, 1, vectorSize]
  };
  const { start, end } = parameters.phraseQueries!;
  return ops.concat([vector(start), vector(end)], 1);
}
