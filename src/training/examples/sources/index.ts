/** The sources of examples by name: what each makes of documents. */

import type { Tagger } from "../../salient-spans/index.ts";
import type { Example, Passages } from "../example.ts";
import { crops } from "./crops.ts";
import { generatedQuestions } from "./generated-questions.ts";
import { maskedSpans } from "./masked-spans.ts";
import type { LabelFreeName } from "./names.ts";
import { phrases } from "./phrases.ts";
import type { Sample } from "./sampling.ts";
import { titles } from "./titles.ts";

/** What examples are made of. */
export interface Documents {
  readonly corpus: Passages;
  /** Finds the spans to mask. Default: names and dates in English. */
  readonly tagger?: Tagger | undefined;
}

/** What a source makes of documents. Of generated questions, `answerable` keeps some. */
export function examplesOf(
  name: LabelFreeName,
  { corpus, tagger }: Documents,
  sample: Sample,
): AsyncGenerator<Example, void> {
  switch (name) {
    case "spans":
      return maskedSpans(corpus, { ...sample, tagger });
    case "crops":
      return crops(corpus, sample);
    case "titles":
      return titles(corpus, sample);
    case "phrases":
      return phrases(corpus, sample);
    case "generated":
      return generatedQuestions(corpus, sample);
  }
}
