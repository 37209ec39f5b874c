/** The learning rate of step `step`, counted from 1: linear warm-up to `peak` over a tenth of `steps`, then linearly to 0. */
export function learningRateAt(step: number, steps: number, peak: number): number {
  const warmUp = Math.max(1, Math.round(steps / 10));
  return peak * Math.min(step / warmUp, (steps - step + 1) / (steps - warmUp + 1));
}
