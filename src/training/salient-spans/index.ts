/** Salient span masking: training examples from documents alone (REALM, section 3.4). */

export { type Extent, sentences } from "../../text/sentences.ts";
export { formatMaskedSentence } from "./format-masked-sentence.ts";
export {
  MASK,
  type MaskedSentence,
  type MaskingCounts,
  type MaskingOptions,
  maskedSentences,
  maskSpan,
  salientSpanOf,
} from "./masked-sentences.ts";
export { removeMaskedSentence, type SourcePassage } from "./remove-masked-sentence.ts";
export { ENTITY_KINDS, type EntityKind, type SalientSpan, type Tagger } from "./spans.ts";
export { loadTagger } from "./tagger.ts";
