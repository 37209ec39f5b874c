/** What a source makes of a corpus, checked: a source can be one of the user's own. */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "./corpus.ts";
import type { Example, Passages } from "./example.ts";
import type { Sample } from "./sources/sampling.ts";
import type { Source } from "./sources/source.ts";

/** Examples between two reports of progress. */
const REPORTED = 100;

const place = z.int("a whole number").gte(0, "a place in a text");

/**
 * An example that is made of passages. What a run makes goes through this schema, and so does what
 * a resumed run reads.
 */
export const madeExample: z.ZodType<Example> = z.strictObject({
  id: z.string("text"),
  question: z.string("text").min(1, "a question"),
  answers: z.array(z.string("text"), "a list of texts").readonly(),
  relevant: z.array(z.string("text"), "a list of ids").readonly(),
  removal: z
    .strictObject({
      cut: z
        .strictObject({
          passageId: z.string("text"),
          extent: z.strictObject({ start: place, end: place }),
        })
        .optional(),
      copies: z.strictObject({ sentence: z.string("text"), entity: z.string("text") }).optional(),
      title: z.string("text").optional(),
    })
    .optional(),
});

/**
 * The examples that a source makes.
 *
 * @param corpus whose ids examples name
 * @param passages the corpus as far as training reads it
 * @throws {InputError} for an example of another form, with an id that another one has, or with a
 *   relevant passage that the corpus does not have
 */
export async function* madeExamples(
  source: Source,
  corpus: Pick<Corpus, "ids">,
  passages: Passages,
  sample: Sample,
): AsyncGenerator<ProgressEvent, Example[]> {
  yield { type: "stage", name: source.stage, total: sample.wanted };
  const known = new Set(corpus.ids);
  const ids = new Set<string>();
  const all: Example[] = [];
  for await (const given of source.examples(passages, sample)) {
    const example = checkedForm(source, given);
    if (ids.has(example.id)) throw problem(source, "a new id", excerpt(example.id));
    ids.add(example.id);
    const unknown = example.relevant.find((id) => !known.has(id));
    if (unknown !== undefined)
      throw problem(source, `relevant passages of the corpus in ${example.id}`, excerpt(unknown));
    if (all.push(example) % REPORTED === 0) yield { type: "progress", done: all.length };
  }
  return all;
}

function checkedForm(source: Source, given: unknown): Example {
  const { data, error } = madeExample.safeParse(given);
  if (data) return data;
  const { path, message } = error!.issues[0]!;
  const where = path.length > 0 ? `${path.join(".")}: ` : "";
  throw problem(source, `examples with id, question, answers, relevant`, `${where}${message}`);
}

const problem = ({ name }: Source, expected: string, got: string): InputError =>
  new InputError({
    where: `source ${name}`,
    expected,
    got,
    remedy: "correct what its function examples yields",
  });
