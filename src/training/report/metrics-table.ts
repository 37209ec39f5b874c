/**
 * `metrics.csv`: the metrics of a run as a table (RFC 4180), for spreadsheets and plots. A row for
 * each record of metrics.jsonl, a column for each name; a cell is empty if the record has no value.
 */

import type { MetricsRecord, MetricValue } from "./metrics-log.ts";

export function metricsTable(records: readonly MetricsRecord[]): string {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => names.map((name) => cellOf(record[name])));
  return [names.map(cellOf), ...rows].map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** Several values, as the shares of heads, are in one cell. */
function cellOf(value: MetricValue | undefined): string {
  if (typeof value !== "object") return quoted(`${value ?? ""}`);
  return value === null ? "" : value.join(" ");
}

const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
