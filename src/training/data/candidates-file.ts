/**
 * Close passages as a file, so that a resumed run reads what the interrupted one did: JSON Lines, first what they were made
 * of, then `{"id", "passages"}` for each question.
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json-lines.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { digestQuestions, type TrainingQuestion } from "./training-questions.ts";

export interface CandidatesSource {
  readonly questions: readonly TrainingQuestion[];
  /** Close passages of a question. */
  readonly count: number;
  /** Digest of the corpus. */
  readonly corpus: string;
}

const LINES_PER_WRITE = 1_000;

/** Writes the ids of the close passages, [questions][count], in one step. @throws {InputError} where the disk refuses. */
export async function writeCandidates(
  file: string,
  source: CandidatesSource,
  close: readonly (readonly string[])[],
): Promise<void> {
  await replaceFile(file, async (handle) => {
    await handle.appendFile(`${JSON.stringify(headerOf(source))}\n`);
    for (let first = 0; first < close.length; first += LINES_PER_WRITE) {
      const some = close.slice(first, first + LINES_PER_WRITE);
      const lines = some.map((passages, i) =>
        JSON.stringify({ id: source.questions[first + i]!.id, passages }),
      );
      await handle.appendFile(`${lines.join("\n")}\n`);
    }
  });
}

/** Reads them again. @throws {InputError} where the file is damaged, or of other questions, another count or another corpus. */
export async function readCandidates(file: string, source: CandidatesSource): Promise<string[][]> {
  const line = z.object({ id: z.string(), passages: z.array(z.string()).length(source.count) });
  const close: string[][] = [];
  let header: unknown;
  for await (const { line: number, value } of readJsonLines(file)) {
    if (number === 1) {
      header = value;
      checkHeader(file, header, source);
      continue;
    }
    const { data } = line.safeParse(value);
    if (data?.id !== source.questions[close.length]?.id || !data)
      throw damaged(`${file}:${number}`);
    close.push(data.passages);
  }
  if (!header || close.length !== source.questions.length) throw damaged(file);
  return close;
}

const headerOf = ({
  questions,
  count,
  corpus,
}: CandidatesSource): Record<string, string | number> => ({
  format: "reatt-close-passages",
  version: 1,
  count,
  corpus,
  questions: digestQuestions(questions),
});

const NOUNS: Readonly<Record<string, string>> = {
  count: "number of close passages",
  corpus: "corpus",
  questions: "training data",
};

function checkHeader(file: string, header: unknown, source: CandidatesSource): void {
  const found = (header ?? {}) as Record<string, unknown>;
  const other = Object.entries(headerOf(source)).find(([name, value]) => found[name] !== value);
  if (!other) return;
  const noun = NOUNS[other[0]];
  if (noun === undefined) throw damaged(file);
  throw new InputError({
    where: file,
    expected: `the ${noun} that the run began with`,
    got: "another",
    remedy: "resume with what it began with, or begin a new run in another directory",
  });
}

const damaged = (where: string): InputError =>
  new InputError({
    where,
    expected: "close passages, a question a line",
    got: "something else",
    remedy: "remove the file: they are found anew",
  });
