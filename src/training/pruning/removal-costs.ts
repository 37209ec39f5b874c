/** What the removal of a token costs the questions that match it. */

/**
 * Adds to `costs` [tokens] what each question token loses if the token of the passage that it
 * matches is removed: the difference between its best and its second-best product,
 *
 *     costs_j += q_i . k_j - max over j' != j of q_i . k_j',    j = argmax over j of q_i . k_j
 *
 * The removal of other tokens costs nothing. The only token of a passage has no cost.
 *
 * @param question the query vectors: [question tokens, dimension]
 * @param keys of the passage: [tokens, dimension]
 */
export function addRemovalCosts(
  question: Float32Array,
  keys: Float32Array,
  dimension: number,
  costs: Float64Array,
): void {
  if (costs.length < 2) return;
  for (let i = 0; i < question.length; i += dimension) {
    let [best, first, second] = [-1, -Infinity, -Infinity];
    for (let j = 0; j < costs.length; j++) {
      let product = 0;
      for (let d = 0; d < dimension; d++) product += question[i + d]! * keys[j * dimension + d]!;
      if (product > first) [best, first, second] = [j, product, first];
      else if (product > second) second = product;
    }
    costs[best]! += first - second;
  }
}

/**
 * How often each token counts in the training: as much as its removal costs. The tokens without a
 * cost count as much as all others together, each the same.
 */
export function tokenCounts(costs: Float64Array): Float64Array {
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const without = costs.filter((cost) => cost === 0).length;
  return costs.map((cost) => (cost > 0 ? cost : total / without));
}
