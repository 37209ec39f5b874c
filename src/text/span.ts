/** The characters [start, end) of a text, in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
