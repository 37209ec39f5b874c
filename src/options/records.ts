/** What the records of a run show of its options: its plan and its model card. */

import { infoOf, type OptionTable, type PlanEntries } from "./option.ts";

type Values = Readonly<Record<string, unknown>>;

/** The entries of a plan, in the order of the table. */
export function planEntries(table: OptionTable, values: Values): PlanEntries {
  const entries = Object.entries(table).flatMap(([name, schema]) => {
    const { plan } = infoOf(schema);
    if (plan === undefined) return [];
    const planned = plan === true ? { [name]: values[name] } : plan(values[name], values);
    return Object.entries(planned as PlanEntries);
  });
  return Object.fromEntries(entries);
}

/** Names and values for a model card: those that describe the model and are set. */
export function cardEntries(table: OptionTable, values: Values): [name: string, value: string][] {
  const shown = Object.keys(table).filter(
    (name) => values[name] !== undefined && infoOf(table[name]!).card !== false,
  );
  return shown.map((name) => {
    const value = values[name];
    return [name, typeof value === "object" ? JSON.stringify(value) : String(value)];
  });
}
