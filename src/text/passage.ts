/** A passage: the unit that is indexed, retrieved and read. */
export interface Passage {
  readonly id: string;
  /** May be empty. */
  readonly title: string;
  readonly text: string;
}
