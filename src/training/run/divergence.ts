/** Detects a diverged run: values that are not finite, or too large to compute with. */

import type { StepLosses } from "../engine/engine.ts";
import type { ParameterState } from "../engine/optimizer.ts";

/**
 * The weights of a working model are far below. The product of three larger weights, as in a gated
 * layer, soon exceeds float32.
 */
const MAX_WEIGHT = 1e9;

/** Describes a loss or gradient that is not finite; otherwise undefined. */
export function divergedLoss({ loss, gradientNorm }: StepLosses, step: number): string | undefined {
  if (Number.isFinite(loss) && Number.isFinite(gradientNorm)) return undefined;
  const [lossText, normText] = [loss.toPrecision(4), gradientNorm.toPrecision(4)];
  return `a loss of ${lossText} and a gradient of norm ${normText} at step ${step}`;
}

/** Describes the first weight that is too large or not a number; otherwise undefined. */
export function divergedParameter(
  parameters: ReadonlyMap<string, ParameterState>,
  step: number,
): string | undefined {
  for (const [name, { value }] of parameters) {
    const weight = value.find((candidate) => !(Math.abs(candidate) < MAX_WEIGHT));
    if (weight !== undefined)
      return `a weight of ${weight.toPrecision(4)} in ${name} after step ${step}`;
  }
  return undefined;
}
