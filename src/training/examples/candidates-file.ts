/**
 * Candidates on disk, so that a resumed run reads the candidates of the interrupted one.
 *
 * Format: JSON Lines. The first line is a header that identifies questions, number of candidates
 * and corpus; then `{"id", "passages"}` for each question. The file is called
 * `close-passages-N.jsonl`, and its format "reatt-close-passages": "close documents" is the paper's
 * name for candidates.
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json-lines.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { digestQuestions, type TrainingQuestion } from "./training-questions.ts";

/** What determines the candidates, apart from the retriever. */
export interface CandidatesSource {
  readonly questions: readonly TrainingQuestion[];
  /** Candidates of each question. */
  readonly count: number;
  /** Digest of the corpus. */
  readonly corpus: string;
}

const LINES_PER_WRITE = 1_000;

/** Replaces the file in one step with the ids of the candidates [questions][count]. */
export async function writeCandidates(
  file: string,
  source: CandidatesSource,
  candidates: readonly (readonly string[])[],
): Promise<void> {
  await replaceFile(file, async (handle) => {
    await handle.appendFile(`${JSON.stringify(headerOf(source))}\n`);
    for (let first = 0; first < candidates.length; first += LINES_PER_WRITE) {
      const batch = candidates.slice(first, first + LINES_PER_WRITE);
      const lines = batch.map((passages, i) =>
        JSON.stringify({ id: source.questions[first + i]!.id, passages }),
      );
      await handle.appendFile(`${lines.join("\n")}\n`);
    }
  });
}

/**
 * Reads candidates.
 *
 * @throws {InputError} if the file is damaged, or belongs to other questions, another number of
 *   candidates or another corpus.
 */
export async function readCandidates(file: string, source: CandidatesSource): Promise<string[][]> {
  const line = z.object({ id: z.string(), passages: z.array(z.string()).length(source.count) });
  const candidates: string[][] = [];
  let hasHeader = false;
  for await (const { line: number, value } of readJsonLines(file)) {
    if (number === 1) {
      checkHeader(file, value, source);
      hasHeader = true;
      continue;
    }
    const { data } = line.safeParse(value);
    if (!data || data.id !== source.questions[candidates.length]?.id)
      throw damaged(`${file}:${number}`);
    candidates.push(data.passages);
  }
  if (!hasHeader || candidates.length !== source.questions.length) throw damaged(file);
  return candidates;
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

/** The header's fields in words. */
const NOUNS: Readonly<Record<string, string>> = {
  count: "number of candidates",
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
    expected: "candidates, one question a line",
    got: "something else",
    remedy: "remove the file: the candidates are then found again",
  });
