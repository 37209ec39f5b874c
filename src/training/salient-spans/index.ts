/** The spans of a sentence that are worth to be asked for: names and dates. */

export { loadTagger } from "./tagger.ts";
export { ENTITY_KINDS, type EntityKind, type SalientSpan, type Tagger } from "./words.ts";
