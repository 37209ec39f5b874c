/** The sources of examples by name: what each makes of documents. */

import type { Tagger } from "../../salient-spans/index.ts";
import type { Example, Passages } from "../example.ts";
import { crops } from "./crops.ts";
import { generatedQuestions } from "./generated-questions.ts";
import { maskedSpans } from "./masked-spans.ts";
import type { LabelFreeName } from "./names.ts";
import { countPhrases } from "./phrase-table.ts";
import { phrases } from "./phrases.ts";
import type { Sample } from "./sampling.ts";
import { titles } from "./titles.ts";

/** What examples are made of. */
export interface Documents {
  readonly corpus: Passages;
  /** Sentences to mask instead of those of the corpus (X of REALM). */
  readonly sentences?: Passages | undefined;
  /** Finds the spans to mask. Default: names and dates in English. */
  readonly tagger?: Tagger | undefined;
  /** Whether the passage of a masked sentence takes part without it, or not at all. */
  readonly sourcePassage?: "without-sentence" | "excluded" | undefined;
}

/** What a source makes of documents. Of generated questions, `answerable` keeps some. */
export async function* examplesOf(
  name: LabelFreeName,
  { corpus, sentences, tagger, sourcePassage }: Documents,
  sample: Sample,
): AsyncGenerator<Example, void> {
  if (name === "crops") yield* crops(corpus, sample);
  else if (name === "titles") yield* titles(corpus, sample);
  else if (name === "generated") yield* generatedQuestions(corpus, sample);
  else if (name === "spans" && sentences)
    yield* maskedSpans(sentences, { ...sample, tagger, sourcePassage: "unknown" });
  else if (name === "spans") yield* maskedSpans(corpus, { ...sample, tagger, sourcePassage });
  else if (!sentences) yield* phrases(corpus, sample);
  else {
    const table = await countPhrases(corpus, sample.seed);
    yield* phrases(sentences, { ...sample, table, onlyMasked: true });
  }
}

/** What the examples of a source are made of: the corpus, or the sentences to mask. */
export const madeOf = (name: LabelFreeName, { corpus, sentences }: Documents): Passages =>
  name === "spans" || name === "phrases" ? (sentences ?? corpus) : corpus;
