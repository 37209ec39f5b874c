import { inspect } from "node:util";

const MAX_LENGTH = 120;

/** A value from outside as an error shows it: in one line, cut where it is long or deep. */
export function excerpt(value: unknown): string {
  const inOneLine = { compact: true, breakLength: Number.POSITIVE_INFINITY };
  const text = inspect(value, {
    ...inOneLine,
    depth: 2,
    maxArrayLength: 8,
    maxStringLength: MAX_LENGTH,
  });
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}...` : text;
}
