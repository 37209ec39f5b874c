/** When training has diverged: what is computed is not finite any more, or will not be. */

import type { StepLosses } from "../engine/engine.ts";
import type { ParameterState } from "../engine/optimizer.ts";

/** No weight of a model that works comes near it; products of three larger ones, as in a gated layer, leave float32 soon. */
const LARGEST = 1e9;

/** The loss or gradient of step `step` that is not finite, in words. */
export function divergedLoss({ loss, gradientNorm }: StepLosses, step: number): string | undefined {
  if (Number.isFinite(loss) && Number.isFinite(gradientNorm)) return undefined;
  return `a loss of ${loss.toPrecision(4)} and a gradient of norm ${gradientNorm.toPrecision(4)} at step ${step}`;
}

/** The parameter that step `step` made too large to compute with, in words. */
export function divergedParameter(
  parameters: ReadonlyMap<string, ParameterState>,
  step: number,
): string | undefined {
  for (const [name, { value }] of parameters) {
    const beyond = value.find((number) => !(Math.abs(number) < LARGEST));
    if (beyond !== undefined)
      return `a weight of ${beyond.toPrecision(4)} in ${name} after step ${step}`;
  }
  return undefined;
}
