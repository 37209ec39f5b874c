/** Where a chart's values lie on its picture. */

/** The picture's frame, in units of the SVG view box, of which a letter is 11 high. */
export const FRAME = {
  width: 520,
  height: 206,
  left: 52,
  right: 508,
  top: 10,
  bottom: 180,
} as const;

const ROUNDING = 1e-9; // 0.3 / 0.1 is a whole number but for this

/** A round number's distance to the next one on an axis that has about five of them. */
function tickDistance(span: number): number {
  const power = 10 ** Math.floor(Math.log10(span / 4));
  return power * [1, 2, 2.5, 5, 10].find((factor) => factor >= span / 4 / power - ROUNDING)!;
}

/** Round numbers, ascending, the first at most `low` and the last at least `high`. */
export function ticksAround(low: number, high: number): number[] {
  const distance = tickDistance(high - low || Math.abs(high) || 1);
  const first = Math.floor(low / distance + ROUNDING);
  const last = Math.max(Math.ceil(high / distance - ROUNDING), first + 1);
  return multiples(first, last, distance);
}

/** Whole round numbers, ascending, none below `low` or above `high`. */
export function wholeTicksWithin(low: number, high: number): number[] {
  const distance = Math.max(1, Math.ceil(tickDistance(high - low || 1)));
  return multiples(Math.ceil(low / distance), Math.floor(high / distance), distance);
}

const multiples = (first: number, last: number, distance: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * distance).toPrecision(12)),
  );

/** From a value to a place between `start` and `end`. A single value is put in the middle. */
export function scaleLinear(
  low: number,
  high: number,
  start: number,
  end: number,
): (value: number) => number {
  const place = (value: number) =>
    high === low ? (start + end) / 2 : start + ((value - low) / (high - low)) * (end - start);
  return (value) => Math.round(place(value) * 10) / 10;
}
