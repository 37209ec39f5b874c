/** What a run with a retrieval monitor brought, in a line. */

import type { Measures } from "../../evaluation/measures.ts";
import type { TrainingResult } from "./events.ts";

/**
 * `R@1 25 → 41 of 200 held-out examples`, with hybrid search and BM25 beside it; or that the
 * original model was kept; or that training brought nothing beyond the token weights.
 */
export function verdictOf({
  monitor,
  step: trained,
}: Pick<TrainingResult, "monitor" | "step">): string {
  if (!monitor)
    return "no verdict: too few examples to hold some out; compare with reatt benchmark";
  const { before, after, hybrid, bm25, questions, step, taken } = monitor;
  const found = (measures: Measures): number => Math.round(measures["recall@1"]! * questions);
  const of = `of ${questions} held-out examples`;
  const reason = trained === 0 ? "no time was left to train" : "no gain";
  if (step === 0) return `${reason}, model unchanged: R@1 ${found(before)} ${of}`;
  const beside = [
    ...(hybrid ? [`hybrid ${found(hybrid.before)} → ${found(hybrid.after)}`] : []),
    `BM25 ${found(bm25)}`,
  ];
  const change = `R@1 ${found(before)} → ${found(after)} ${of}; ${beside.join(", ")}`;
  return taken ? `no gain from training, token weights counted: ${change}` : change;
}
