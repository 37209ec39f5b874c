/** The characters [start, end) of a text, in UTF-16 code units. */
export interface Span {
  /** The first character. */
  readonly start: number;
  /** The character after the last. */
  readonly end: number;
}

/** The part of a span of a prompt that is in one of its fields, as a span of the field. */
export function spanInside(span: Span, fieldStart: number, length: number): Span | undefined {
  const start = Math.max(0, span.start - fieldStart);
  const end = Math.min(length, span.end - fieldStart);
  return start < end ? { start, end } : undefined;
}
