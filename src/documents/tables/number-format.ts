/**
 * What a person sees of a number in a cell, and what filters compare.
 *
 * Source: ECMA-376, part 1, 18.8.30 and 18.8.31 (numFmt).
 */

import { format, getFormatFromId } from "numfmt";

/** The longest format that Excel takes. */
const MAX_FORMAT_LENGTH = 255;
/** Days from 1899-12-30 to 1970-01-01. */
const EPOCH = 25_569;
const DAY_MS = 86_400_000;
/** Hours, minutes or seconds in all: a length of time, not a time of a day. */
const DURATION = /\[(?:h+|m+|s+)\]/i;
/** Marks of a code, a phone number: these digits count nothing. */
const LABEL = /^0\d|\d-\d|\d\)\s*\d/;

export interface ShownNumber {
  readonly text: string;
  /** The number, if it is written in another way. */
  readonly value?: string | undefined;
}

export interface NumberFormat {
  /** Whether the numbers are days since the beginning of 1900. */
  readonly isDate: boolean;
  readonly show: (number: number) => ShownNumber;
}

/** @param code the format of the cell; undefined: a built-in one */
export function numberFormat(id: number, code?: string): NumberFormat {
  const given = code ?? String(getFormatFromId(id) ?? "General");
  if (/^(?:general|@)?$/i.test(given) || given.length > MAX_FORMAT_LENGTH) return GENERAL;
  if (DURATION.test(given))
    return { isDate: false, show: (number) => ({ text: formatted(given, number) }) };
  if (isDateFormat(given)) return { isDate: true, show: (days) => ({ text: dateText(days) }) };
  const show = (number: number): ShownNumber => {
    const text = formatted(given, number);
    return { text, value: filterValue(text, number) };
  };
  return { isDate: false, show };
}

/** The number for filters of what a cell shows. Undefined for a label such as `01234`. */
export const filterValue = (text: string, number: number): string | undefined =>
  text === "" || LABEL.test(text) ? undefined : plainNumber(number);

/** As Excel shows 0.1 + 0.2. An integer keeps all its digits. */
const plainNumber = (number: number): string =>
  String(Number.isSafeInteger(number) ? number : Number(number.toPrecision(15)));

export const GENERAL: NumberFormat = {
  isDate: false,
  show: (number) => ({ text: plainNumber(number) }),
};

/** In the format, without the spaces that align columns. */
function formatted(code: string, number: number): string {
  try {
    return format(code, number, { fillChar: " " }).replace(/\s+/g, " ").trim();
  } catch {
    return plainNumber(number); // a format that Excel does not know
  }
}

/** Letters of days, months, years or hours outside of quotes, colours and currencies. */
const isDateFormat = (code: string): boolean =>
  /[dmyh]/i.test(
    code.replace(/"[^"]*(?:"|$)|\[[^\]]*(?:\]|$)|\\.|_./g, "").replace(/general/i, ""),
  );

/** `2024-05-01`, `2024-05-01T09:30:00`, and `09:30:00` for a time of no day. */
function dateText(days: number): string {
  const date = new Date(Math.round((days - EPOCH) * 86_400) * 1_000);
  if (Number.isNaN(date.getTime())) return String(days);
  const [day = "", time = ""] = date
    .toISOString()
    .replace(/\.\d+Z$/, "")
    .split("T");
  if (days >= 0 && days < 1) return time;
  return date.getTime() % DAY_MS === 0 ? day : `${day}T${time}`;
}
