/** What the model card shows of the options of a run. */

import { infoOf, type OptionTable } from "./option.ts";

/** Names and values for a model card: those that describe the model and are set. */
export function cardEntries(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
): [name: string, value: string][] {
  const shown = Object.keys(table).filter(
    (name) => values[name] !== undefined && infoOf(table[name]!).card !== false,
  );
  return shown.map((name) => {
    const value = values[name];
    return [name, typeof value === "object" ? JSON.stringify(value) : String(value)];
  });
}
