/** `metrics.jsonl`: what a run measured, one JSON object a line, in the order in which it happened. */

import { readFile } from "node:fs/promises";
import { openAppendFile } from "../../io/append-file.ts";
import { InputError } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";

/** A number that is not finite is `null` in the file. */
export type MetricValue = number | string | null | readonly number[];

/** What was measured after a step: a training step's losses, or an evaluation's measures. */
export interface MetricsRecord {
  /** Steps done: 0 before the first. */
  readonly step: number;
  readonly [name: string]: MetricValue;
}

export interface MetricsLog extends AsyncDisposable {
  /** All records so far, those of an interrupted run among them. */
  readonly records: readonly MetricsRecord[];
  append(record: MetricsRecord): Promise<void>;
  /** Makes the records durable: before a checkpoint, so that a resumed run has them all. */
  sync(): Promise<void>;
}

/**
 * Opens the log of a run. A new run (no `resumedAt`) begins with an empty one. A run that goes on from step `resumedAt` keeps
 * the records up to it: what an interrupted run measured later will be measured again, and a line that it did not finish does
 * not count.
 *
 * @throws {InputError} where a line is damaged, or the disk refuses.
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

/** The records of a log, without a last line that was not finished; none where there is no file. */
export async function readMetrics(file: string): Promise<MetricsRecord[]> {
  const lines = (await readText(file)).split("\n");
  lines.pop(); // what follows the last line break
  return lines.map((line, index) => parse(line, `${file}:${index + 1}`));
}

const lineOf = (record: MetricsRecord): string => `${JSON.stringify(record)}\n`;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return "";
    throw damaged(file, code ?? String(cause), cause);
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
  new InputError(
    {
      where,
      expected: "a record of a run",
      got,
      remedy: "remove the line, or put the log elsewhere",
    },
    { cause },
  );
