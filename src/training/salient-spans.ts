/** Salient span masking: training examples from documents alone. */

export { formatMaskedSentence } from "./salient-spans/format-masked-sentence.ts";
export {
  MASK,
  type MaskedSentence,
  type MaskingCounts,
  type MaskingOptions,
  maskedSentences,
  maskSpan,
  type SentenceWithMask,
  spanOf,
} from "./salient-spans/masked-sentences.ts";
export { randomSpans, uniformTokens } from "./salient-spans/other-spans.ts";
export { removeMaskedSentence, type SourcePassage } from "./salient-spans/remove-masked-sentence.ts";
export { type Extent, sentences } from "./salient-spans/sentences.ts";
export { ENTITY_KINDS, type EntityKind, type Span, type Tagger } from "./salient-spans/spans.ts";
export { loadTagger } from "./salient-spans/tagger.ts";
