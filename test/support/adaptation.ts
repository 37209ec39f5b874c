/** A small corpus to adapt to, with questions and labels, and what tests do with runs. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Passage } from "../../src/text/passage.ts";
import type { TrainOptions } from "../../src/training/options/train-options.ts";
import type { Tagger } from "../../src/training/salient-spans/index.ts";
import { train } from "../../src/training/train.ts";
import { writeLines } from "./training.ts";

const CITIES = [
  "Oslo",
  "Bern",
  "Rome",
  "Lima",
  "Kyiv",
  "Bonn",
  "Graz",
  "Turin",
  "Ghent",
  "Malmo",
  "Cadiz",
  "Lviv",
];

/** Two sentences about each of twelve cities. */
export const PASSAGES: readonly Passage[] = CITIES.map((city, i) => ({
  id: `p${i}`,
  title: city,
  text: `The old harbour of ${city} was opened by a king long ago. Visitors reach ${city} by train in the early spring.`,
}));

/** Words in capitals, but not at the beginning. */
export const capitals: Tagger = (sentence) =>
  Array.from(sentence.matchAll(/(?<!^)\b[A-Z]\w+/g), ({ index, 0: name }) => ({
    start: index,
    end: index + name.length,
  }));

export interface AdaptationFiles {
  readonly corpus: string;
  readonly data: string;
  readonly queries: string;
  readonly qrels: string;
}

export function writeAdaptationFiles(folder: string): AdaptationFiles {
  const records = (of: (passage: Passage, i: number) => object): object[] => PASSAGES.map(of);
  return {
    corpus: writeLines(
      join(folder, "corpus.jsonl"),
      records(({ id, ...rest }) => ({ _id: id, ...rest })),
    ),
    data: writeLines(
      join(folder, "data.jsonl"),
      records(({ title, id }) => ({
        question: `who opened the harbour of ${title}?`,
        answers: ["a king"],
        passage_id: id,
      })),
    ),
    queries: writeLines(
      join(folder, "queries.jsonl"),
      records(({ title }, i) => ({ _id: `q${i}`, text: `trains to ${title}` })),
    ),
    qrels: writeLabels(join(folder, "qrels.tsv")),
  };
}

/** Passage i is relevant to query i, with label 1 or 2. */
function writeLabels(file: string): string {
  const rows = PASSAGES.map((_, i) => `q${i}\tp${i}\t${1 + (i % 2)}\n`);
  writeFileSync(file, `query-id\tcorpus-id\tscore\n${rows.join("")}`);
  return file;
}

/** Trains up to each of the steps in turn: the run is stopped there, and resumed. */
export async function trainInParts(options: TrainOptions, steps: readonly number[]): Promise<void> {
  for (const last of steps) {
    const stop = new AbortController();
    await finish(train({ ...options, resume: true, signal: stop.signal }), (event) => {
      if (event.type === "step" && event.step === last) stop.abort();
    });
  }
}

/** Runs to the end. */
export async function finish<Event, Result>(
  run: AsyncGenerator<Event, Result>,
  onEvent: (event: Event) => void = () => {},
): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
    onEvent(value);
  }
}
