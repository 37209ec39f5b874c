/** A passage: the unit of indexing, retrieval and reading. */
export interface Passage {
  readonly id: string;
  /** May be empty. */
  readonly title: string;
  readonly text: string;
}
