/**
 * Values of metadata as conditions compare them: texts in NFC, because file systems decompose
 * letters, and dates as time.
 */

import type { MetadataItem } from "../../text/passage.ts";

/** From `start` to before `end`, in microseconds since 1970 in UTC. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * A date of ISO 8601: a month, a day, or a time with minutes, seconds or a fraction of them and
 * its zone. PostgreSQL has the same expression (places/stores/postgres/where.ts).
 */
export const DATE_PATTERN: string =
  "^([1-9][0-9]{3})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01])" +
  "(?:[T ]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,9}))?)?" +
  "(Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])?)?)?$";

const DATE = new RegExp(DATE_PATTERN);

const SECOND = 1_000_000; // microseconds
const MINUTE = 60 * SECOND;

/**
 * The time that a text names; undefined if it is no date. A month and a day last until the next
 * one, a time as long as its last digit says. Without a zone it is UTC.
 *
 * @example
 * timeSpan("2024-05-31"); // { start: 1717113600000000, end: 1717200000000000 }
 */
export function timeSpan(value: MetadataItem): TimeSpan | undefined {
  const found = typeof value === "string" ? DATE.exec(value) : null;
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = found;
  const at = (month: number, day: number): number => 1000 * Date.UTC(+year!, month, day);
  if (day === undefined) return { start: at(+month! - 1, 1), end: at(+month!, 1) };
  const date = at(+month! - 1, +day);
  if (hour === undefined) return { start: date, end: at(+month! - 1, +day + 1) };
  const digits = fraction?.slice(0, 6) ?? "";
  const start =
    date +
    (60 * +hour + +minute! - offset(zone)) * MINUTE +
    +(second ?? 0) * SECOND +
    +digits.padEnd(6, "0");
  return { start, end: start + (second === undefined ? MINUTE : SECOND / 10 ** digits.length) };
}

/** Minutes that a zone is before UTC. */
function offset(zone = "Z"): number {
  if (zone === "Z") return 0;
  const minutes = 60 * +zone.slice(1, 3) + +zone.slice(-2);
  return zone.startsWith("-") ? -minutes : minutes;
}

/** A value whose equality is that of its text. */
export const composed = <Value extends MetadataItem | undefined>(value: Value): Value =>
  (typeof value === "string" ? value.normalize("NFC") : value) as Value;
