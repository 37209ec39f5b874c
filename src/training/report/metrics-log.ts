/** `metrics.jsonl`: the metrics of a run in order of time, one JSON object a line. */

import { readFile } from "node:fs/promises";
import { openAppendFile } from "../../io/append-file.ts";
import { InputError, inputErrorFrom } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";

/** The file stores a number that is not finite as `null`. */
export type MetricValue = number | string | null | readonly number[];

/** The metrics after a step: the losses of a training step or the measures of an evaluation. */
export interface MetricsRecord {
  /** Number of completed steps. */
  readonly step: number;
  readonly [name: string]: MetricValue;
}

export interface MetricsLog extends AsyncDisposable {
  /** All records so far, including those before the run was resumed. */
  readonly records: readonly MetricsRecord[];
  append(record: MetricsRecord): Promise<void>;
  /**
   * Makes the records durable. Must precede a checkpoint, so that a resumed run has all of them.
   */
  sync(): Promise<void>;
}

/**
 * Opens the log of a run. Without `resumedAt`, the log begins empty. With it, the log keeps the
 * records up to that step. The resumed run measures later steps again. An incomplete last line is
 * ignored.
 *
 * @throws {InputError} if a line is damaged, or if the file cannot be read or written.
 */
export async function openMetricsLog(file: string, resumedAt?: number): Promise<MetricsLog> {
  const records = resumedAt === undefined ? [] : await readMetrics(file);
  const kept = records.filter(({ step }) => resumedAt !== undefined && step <= resumedAt);
  await replaceFile(file, (handle) => handle.writeFile(kept.map(lineOf).join("")));
  const { append, sync, [Symbol.asyncDispose]: close } = await openAppendFile(file);
  return {
    records: kept,
    async append(record) {
      await append(lineOf(record));
      kept.push(record);
    },
    sync,
    [Symbol.asyncDispose]: close,
  };
}

/** Reads the records of a log without an incomplete last line. A missing file has no records. */
export async function readMetrics(file: string): Promise<MetricsRecord[]> {
  const lines = (await readText(file)).split("\n");
  lines.pop(); // an incomplete line, or the empty text after the last line break
  return lines.map((line, index) => parse(line, `${file}:${index + 1}`));
}

const REMEDY = "remove the line, or put the log elsewhere";

const lineOf = (record: MetricsRecord): string => `${JSON.stringify(record)}\n`;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw inputErrorFrom(cause, { where: file, expected: "a record of a run", remedy: REMEDY });
  }
}

function parse(line: string, where: string): MetricsRecord {
  try {
    const record: unknown = JSON.parse(line);
    if (typeof (record as MetricsRecord | null)?.step === "number") return record as MetricsRecord;
  } catch (cause) {
    throw damaged(where, "another text", cause);
  }
  throw damaged(where, 'one without "step"');
}

const damaged = (where: string, got: string, cause?: unknown): InputError =>
  new InputError({ where, expected: "a record of a run", got, remedy: REMEDY }, { cause });
