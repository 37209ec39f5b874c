/** The ids of the records of a file: no record is lost because its id is that of another. */

import { InputError } from "../../io/errors.ts";
import type { Fields } from "../../text/fields.ts";
import { createIdTable, type IdTable } from "../../text/id-table.ts";
import {
  ID_NAMES,
  identifier,
  type RecordFields,
  recordFields,
  unwrapped,
} from "../../text/record-fields.ts";

/** Counts what the fields for ids have more than once. Needs about 30 bytes a record. */
export class IdColumns {
  readonly #columns = new Map<string, { ids: IdTable; repeated: number }>();
  #records = 0;

  add(record: Fields): void {
    this.#records++;
    const fields = unwrapped(record);
    for (const name of ID_NAMES) {
      const id = identifier(fields[name]);
      if (id === undefined) continue;
      if (!this.#columns.has(name)) this.#columns.set(name, { ids: createIdTable(), repeated: 0 });
      const column = this.#columns.get(name)!;
      if (column.ids.firstLine(id, this.#records) !== this.#records) column.repeated++;
    }
  }

  /** The fields that name each record that has them. */
  get unique(): string[] {
    return ID_NAMES.filter((name) => (this.#columns.get(name)?.repeated ?? 0) === 0);
  }

  /** Repeated ids, if no field names the records. */
  get repeated(): number {
    const columns = [...this.#columns.values()];
    const isNamed = columns.some(({ repeated }) => repeated === 0);
    return isNamed ? 0 : (columns[0]?.repeated ?? 0);
  }
}

/** Gives each record of a file the id that it has, unless a record before it has the same. */
export class RecordIds {
  readonly #seen = createIdTable();
  #names = ID_NAMES;
  #records = 0;
  #repeated = 0;

  /** From here on, an id is a value of these fields: those of a table, of a list. */
  choose({ unique, repeated }: IdColumns): void {
    this.#names = unique;
    this.#repeated += repeated;
  }

  /** The fields of the next record. A repeated id is no id, but a field as all others. */
  fieldsOf(record: Fields): RecordFields {
    const fields = recordFields(record, this.#names);
    this.#records++;
    const { id } = fields;
    if (id === undefined || this.#seen.firstLine(id, this.#records) === this.#records)
      return fields;
    this.#repeated++;
    return recordFields(record, []);
  }

  /** Says in one line how many ids are repeated. */
  report(where: string, report: (problem: InputError) => void): void {
    if (this.#repeated > 0) report(repeatedIds(where, this.#repeated));
  }
}

export const repeatedIds = (where: string, count: number): InputError =>
  new InputError({
    where,
    expected: "an id of its own for each record",
    got: `${count} that ${count === 1 ? "an earlier record has" : "earlier records have"}`,
    remedy: "these records are named by their line or number; give each an id of its own",
  });
