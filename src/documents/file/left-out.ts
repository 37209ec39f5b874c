/** Counts what a file has that is no text: charts, attachments, pictures. */

import { InputError } from "../../io/errors.ts";
import type { SourceFile } from "./source-file.ts";

export class LeftOut {
  readonly #counts = new Map<string, number>();

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** Names all of it in one line: `2 charts, 1 embedded object`. */
  report(file: SourceFile): void {
    if (this.#counts.size === 0) return;
    const all = [...this.#counts].map(
      ([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`,
    );
    file.report(
      new InputError({
        where: file.path,
        expected: "text",
        got: all.join(", "),
        remedy: "these are left out, the rest is read",
      }),
    );
  }
}
