/** The losses of a batch, summed over its chunks. */

import type { Tensor } from "../../tensor/ops.ts";
import type { LossGraphOptions, ObjectiveName } from "../loss/options.ts";
import type { Tensors } from "./gradient-passes.ts";

export interface BatchLosses {
  /** Negative log likelihood of an answer token, in nats. Absent for `retrieval`. */
  readonly nll?: number;
  /** The copy-attention loss of an answer token, in nats. Absent without a weight. */
  readonly copyAttention?: number;
  /** The phrase loss of a question, in nats. Absent without a weight. */
  readonly phraseLoss?: number;
  /** The loss that is minimised. */
  readonly loss: number;
  /** Absent for `qa`. */
  readonly retrieval?: {
    /** [questions][different passages of the question's chunk]: scores, before the scale */
    readonly scores: readonly (readonly number[])[];
    /**
     * [questions][K]: log of the retrieval distribution at the question's candidates. About -1e9
     * for those that do not count, and where a question has fewer than K candidates.
     */
    readonly logProbabilities: readonly (readonly number[])[];
  };
  /** Absent for `qa` and `marginal`. */
  readonly distillation?: {
    /** KL divergence of a question, in nats. */
    readonly kl: number;
    /** KL divergence of a question from its given scores, in nats; for `retrieval`. */
    readonly softKl?: number;
    /** [questions][K]: the target attention, or the distribution over the positives */
    readonly target: readonly (readonly number[])[];
  };
}

/** Sums the losses of the chunks of a batch. Each chunk has its share of the batch's averages. */
export function sumLosses(
  chunks: readonly Tensors[],
  objective: ObjectiveName,
  weights: Pick<LossGraphOptions, "alpha" | "copyAttention" | "phraseLoss">,
): BatchLosses {
  const total = (name: string): number =>
    chunks.reduce((sum, chunk) => sum + chunk[name]!.data[0]!, 0);
  const rows = (name: string): number[][] => chunks.flatMap((chunk) => rowsOf(chunk[name]!));
  const isRead = objective !== "retrieval";
  const nll = isRead ? total("nll") : 0;
  const copyAttention = chunks[0]!.copyAttention ? total("copyAttention") : undefined;
  const reading = {
    ...(isRead ? { nll } : {}),
    ...(copyAttention === undefined ? {} : { copyAttention }),
    loss: nll + (copyAttention === undefined ? 0 : weights.copyAttention! * copyAttention),
  };
  if (objective === "qa") return reading;
  const retrieval = { scores: rows("scores"), logProbabilities: rows("logProbabilities") };
  if (objective === "marginal") return { ...reading, retrieval };
  const kl = total("kl");
  const softKl = isRead ? {} : { softKl: total("softKl") };
  const phrases = chunks[0]!.phraseLoss ? { phraseLoss: total("phraseLoss") } : {};
  const loss =
    reading.loss +
    weights.alpha * (kl + (softKl.softKl ?? 0)) +
    (weights.phraseLoss ?? 0) * (phrases.phraseLoss ?? 0);
  const distillation = { kl, ...softKl, target: rows("target") };
  return { ...reading, ...phrases, loss, retrieval, distillation };
}

function rowsOf({ data, shape }: Tensor): number[][] {
  const [rows, columns] = shape as [number, number];
  return Array.from({ length: rows }, (_, row) => [
    ...data.subarray(row * columns, (row + 1) * columns),
  ]);
}
