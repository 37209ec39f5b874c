/** The characters [start, end) of a text, in UTF-16 code units. */
export interface Span {
  /** The first character. */
  readonly start: number;
  /** The character after the last. */
  readonly end: number;
}
