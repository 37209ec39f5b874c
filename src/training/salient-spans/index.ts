/** Salient span masking: training examples from documents alone. */

export { formatMaskedSentence } from "./format-masked-sentence.ts";
export {
  MASK,
  type MaskedSentence,
  type MaskingCounts,
  type MaskingOptions,
  maskedSentences,
  maskSpan,
  type SentenceWithMask,
  spanOf,
} from "./masked-sentences.ts";
export { randomSpans, uniformTokens } from "./other-spans.ts";
export { removeMaskedSentence, type SourcePassage } from "./remove-masked-sentence.ts";
export { type Extent, sentences } from "./sentences.ts";
export { ENTITY_KINDS, type EntityKind, type Span, type Tagger } from "./spans.ts";
export { loadTagger } from "./tagger.ts";
