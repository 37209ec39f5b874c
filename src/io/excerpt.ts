import { inspect } from "node:util";

const MAX_LENGTH = 120;

/** Shows a value in an error message: on one line, shortened if it is long or deeply nested. */
export function excerpt(value: unknown): string {
  const text = inspect(value, {
    compact: true,
    breakLength: Number.POSITIVE_INFINITY,
    depth: 2,
    maxArrayLength: 8,
    maxStringLength: MAX_LENGTH,
  });
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}...` : text;
}
