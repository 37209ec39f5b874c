/** What was used last, within a number of bytes. */
export class Recent<Value> {
  readonly #limit: number;
  readonly #bytesOf: (value: Value, key: string) => number;
  /** In the order of their last use. */
  readonly #values = new Map<string, Value>();
  #bytes = 0;

  /** @param limit bytes of all values together; the least recently used ones leave first */
  constructor(limit: number, bytesOf: (value: Value, key: string) => number) {
    this.#limit = limit;
    this.#bytesOf = bytesOf;
  }

  /** Bytes of the values that are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The value of a key, which `make` computes if it is not held. */
  of(key: string, make: () => Value): Value {
    const value = this.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Holds a value as the one that was used last. */
  set(key: string, value: Value): void {
    this.#remove(key);
    this.#values.set(key, value);
    this.#bytes += this.#bytesOf(value, key);
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#limit) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const held = this.#values.get(key);
    if (held === undefined) return;
    this.#bytes -= this.#bytesOf(held, key);
    this.#values.delete(key);
  }
}
