/**
 * The round trip of generated questions: the model reads the passage of each, and those stay that
 * it answers with the phrase they were made of. A resumed run keeps the same questions.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { exactMatch } from "../../evaluation/answers.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { ReAtt } from "../../reatt.ts";
import type { Passage } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { Corpus } from "./corpus.ts";
import type { LabelFreeExample } from "./sources/example.ts";

const FORMAT = "reatt-generated-questions";
const VERSION = 1;
/** Questions whose passages are held in memory. */
const BATCH = 64;

/**
 * The examples that the model at the start of the run answers. `generated-questions.json` in the
 * folder of the run has their ids.
 *
 * @param examples each with an answer and one relevant passage
 * @throws {InputError} if the model answers none, or the file belongs to other questions
 */
export async function* answerable(
  { model: folder, out, resume, provider, signal, maxPassageTokens }: ResolvedOptions,
  corpus: Corpus,
  examples: readonly LabelFreeExample[],
): AsyncGenerator<ProgressEvent, LabelFreeExample[]> {
  const file = join(out, "generated-questions.json");
  const digest = createHash("sha256").update(JSON.stringify(examples)).digest("hex");
  if (!resume || !existsSync(file)) {
    yield { type: "stage", name: "answering generated questions", total: examples.length };
    await using model = await ReAtt.load(folder, { provider });
    const kept = yield* reporting<ProgressEvent, string[]>(async (report) => {
      const ids: string[] = [];
      for (let first = 0; first < examples.length; first += BATCH) {
        const batch = examples.slice(first, first + BATCH);
        ids.push(...(await answered(model, corpus, batch, { maxPassageTokens, signal })));
        report({ type: "progress", done: first + batch.length });
      }
      return ids;
    });
    const content = { format: FORMAT, version: VERSION, questions: digest, kept };
    await replaceFile(file, (handle) => handle.appendFile(`${JSON.stringify(content)}\n`));
  }
  const kept = await readKept(file, digest);
  if (kept.size === 0) throw noneAnswered(examples.length);
  return examples.filter(({ id }) => kept.has(id));
}

/** The ids of the questions that the model answers with their phrases. */
async function answered(
  model: ReAtt,
  corpus: Corpus,
  examples: readonly LabelFreeExample[],
  options: { readonly maxPassageTokens: number; readonly signal: AbortSignal | undefined },
): Promise<string[]> {
  const passages = await corpus.pick(examples.map(({ relevant }) => relevant[0]!));
  const lists = examples.map(({ relevant }): Passage[] => [passages.get(relevant[0]!)!]);
  const questions = examples.map(({ question }) => question);
  const ids: string[] = [];
  let place = 0;
  for await (const { answer } of model.read(questions, lists, {
    ...options,
    minimumConfidence: 0,
  })) {
    const { id, answer: phrase } = examples[place++]!;
    if (exactMatch(answer, [phrase!])) ids.push(id);
  }
  return ids;
}

const Kept = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  questions: z.string(),
  kept: z.array(z.string()),
});

async function readKept(file: string, digest: string): Promise<Set<string>> {
  try {
    const { questions, kept } = Kept.parse(JSON.parse(await readFile(file, "utf8")));
    if (questions === digest) return new Set(kept);
  } catch (cause) {
    throw unusable(file, "something else", cause);
  }
  throw unusable(file, "those of others");
}

const unusable = (file: string, got: string, cause?: unknown): InputError =>
  new InputError(
    {
      where: file,
      expected: "the generated questions of this run",
      got,
      remedy: "delete it, or begin a new run in another directory",
    },
    { cause },
  );

const noneAnswered = (questions: number): InputError =>
  new InputError({
    where: "generated",
    expected: "a question that the model answers with its phrase",
    got: `none of ${questions}`,
    remedy: "leave generated out of --sources, or train the model to read first",
  });
