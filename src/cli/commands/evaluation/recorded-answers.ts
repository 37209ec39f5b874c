/**
 * Answers to many questions, each recorded in a file as soon as it is known, so that the same
 * command continues after an interruption.
 */

import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type AppendFile, openAppendFile } from "../../../io/append-file.ts";
import { replaceFile } from "../../../io/replace-file.ts";
import { AnswerSignalsFile } from "../../../model/answer-calibration.ts";
import { BlockSignalsFile } from "../../../model/block-calibration.ts";
import { CONFIG_FILE } from "../../../model/config-file.ts";
import type { AnswerOptions } from "../../../reatt.ts";
import { startProgress } from "../../output/progress.ts";
import type { OpenSearch } from "../../shared/search.ts";

const recordedAnswer = z.object({
  answer: z.string(),
  confidence: z.number(),
  signals: AnswerSignalsFile.optional(),
  evidence: z.array(
    z.object({ id: z.string(), text: z.string(), signals: BlockSignalsFile.optional() }),
  ),
});

export type RecordedAnswer = z.infer<typeof recordedAnswer>;

/** The first line of the file. */
const header = z.object({ run: z.string() });

/**
 * Answers all questions in their order, with progress.
 *
 * @param reading all options of the answers that `open.options` does not have
 * @param file where answers are recorded; undefined for no record. A record of other questions,
 * another model, index or other options is replaced
 */
export async function answerAll(
  open: OpenSearch,
  reading: AnswerOptions,
  file: string | undefined,
): Promise<RecordedAnswer[]> {
  const run = await identityOf(open, reading);
  const answers = file === undefined ? [] : await readRecord(file, run);
  if (file !== undefined) await writeRecord(file, run, answers);
  await using record = file === undefined ? undefined : await openAppendFile(file);
  const progress = startProgress("questions", open.questions.length);
  progress.resume(answers.length);
  try {
    for await (const answer of answersFrom(open, reading, answers.length)) {
      answers.push(answer);
      await append(record, answer);
      progress.update(answers.length);
    }
  } finally {
    progress.stop();
  }
  return answers;
}

async function* answersFrom(
  { model, index, questions, options }: OpenSearch,
  reading: AnswerOptions,
  first: number,
): AsyncGenerator<RecordedAnswer, void> {
  const texts = questions.slice(first).map(({ question }) => question);
  if (texts.length === 0) return;
  for await (const { answer, confidence, signals, evidence } of model.answer(texts, index, {
    ...options,
    ...reading,
  })) {
    const blocks = evidence.map(({ id, text, signals }) => ({ id, text, signals }));
    yield { answer, confidence, signals, evidence: blocks };
  }
}

const append = async (record: AppendFile | undefined, answer: RecordedAnswer): Promise<void> =>
  record?.append(`${JSON.stringify(answer)}\n`);

/** The answers of a record of this run; none if there is no such record. */
async function readRecord(file: string, run: string): Promise<RecordedAnswer[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  const [first, ...lines] = text.split("\n").slice(0, -1); // a killed process can leave half a line
  if (parseLine(header, first)?.run !== run) return [];
  const answers = lines.map((line) => parseLine(recordedAnswer, line));
  const damaged = answers.indexOf(undefined);
  return (damaged === -1 ? answers : answers.slice(0, damaged)) as RecordedAnswer[];
}

function parseLine<T>(schema: z.ZodType<T>, line: string | undefined): T | undefined {
  try {
    return schema.parse(JSON.parse(line!));
  } catch {
    return undefined;
  }
}

const writeRecord = (
  file: string,
  run: string,
  answers: readonly RecordedAnswer[],
): Promise<void> =>
  replaceFile(file, (handle) =>
    handle.writeFile([{ run }, ...answers].map((line) => `${JSON.stringify(line)}\n`).join("")),
  );

/** A digest of all that determines the answers. Weights are identified by size and time. */
async function identityOf(
  { model, index, questions, options }: OpenSearch,
  reading: AnswerOptions,
): Promise<string> {
  const { hybrid, filter: _, signal: __, ...rest } = options;
  const weights = typeof hybrid === "object" ? { ...hybrid, lexical: undefined } : hybrid;
  const files = (await readdir(model.folder)).filter((name) => /safetensors|bin$/.test(name));
  const stats = await Promise.all(
    files.sort().map(async (name) => {
      const { size, mtimeMs } = await stat(join(model.folder, name));
      return { name, size, mtimeMs };
    }),
  );
  const config = await readFile(join(model.folder, CONFIG_FILE), "utf8");
  const { fingerprint } = model;
  const { passageCount } = index;
  const parts = [fingerprint, stats, config, passageCount, weights, rest, reading, questions];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
