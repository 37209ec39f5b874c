/** The learning rate: linear warm-up, linear decay to 0 (ReAtt, section 5). */

/** One step in 10 is warm-up. */
const STEPS_PER_WARM_UP_STEP = 10;

/** The learning rate of step `step`, counted from 1, of `steps`. */
export function learningRateAt(step: number, steps: number, peak: number): number {
  const warmUp = Math.max(1, Math.round(steps / STEPS_PER_WARM_UP_STEP));
  return peak * Math.min(step / warmUp, (steps - step + 1) / (steps - warmUp + 1));
}
