/** The spans of a sentence that are worth to be asked for: names and dates. */

export { loadTagger } from "./tagger.ts";
export type { SalientSpan, Tagger } from "./words.ts";
