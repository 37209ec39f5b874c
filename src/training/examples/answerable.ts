/**
 * The round trip of generated questions: the model reads the passage of each, and those stay that
 * it answers with the phrase they were made of.
 */

import { exactMatch } from "../../evaluation/answers.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { ReAtt } from "../../reatt.ts";
import type { Provider } from "../../tensor/session.ts";
import type { Corpus } from "./corpus.ts";
import type { Example } from "./example.ts";

/** Questions whose passages are held in memory. */
const BATCH = 64;

/** How the model reads. */
export interface ReadingSettings {
  /** Folder of the model. */
  readonly model: string;
  readonly maxPassageTokens: number;
  readonly provider?: Provider | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The examples that the model answers.
 *
 * @param examples each with an answer and one relevant passage
 * @throws {InputError} if the model answers none
 */
export async function* answerable(
  { model: folder, provider, ...options }: ReadingSettings,
  corpus: Corpus,
  examples: readonly Example[],
): AsyncGenerator<ProgressEvent, readonly Example[]> {
  yield { type: "stage", name: "answering generated questions", total: examples.length };
  await using model = await ReAtt.load(folder, { provider });
  const answered = yield* reporting<ProgressEvent, Example[]>(async (report) => {
    const found: Example[] = [];
    for (let first = 0; first < examples.length; first += BATCH) {
      const batch = examples.slice(first, first + BATCH);
      const passages = await corpus.pick(batch.map(({ relevant }) => relevant[0]!));
      const lists = batch.map(({ relevant }) => [passages.get(relevant[0]!)!]);
      const questions = batch.map(({ question }) => question);
      let place = 0;
      for await (const { answer } of model.read(questions, lists, {
        ...options,
        minimumConfidence: 0,
      })) {
        const example = batch[place++]!;
        if (exactMatch(answer, example.answers)) found.push(example);
      }
      report({ type: "progress", done: first + batch.length });
    }
    return found;
  });
  if (answered.length > 0) return answered;
  throw new InputError({
    where: "generated",
    expected: "a question that the model answers with its phrase",
    got: `none of ${examples.length}`,
    remedy: "leave generated out of --sources, or train the model to read first",
  });
}
