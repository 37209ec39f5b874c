/**
 * The syntax that people know from search boxes, in a question:
 *
 *     "an exact phrase"    passages with these words in this order
 *     -word                passages without the word
 *     field:value          passages whose metadata, or `document`, have the words of the value
 *
 * A question in a sentence stays as it is, but for `field:value`: in it, quotation marks quote, and
 * `-v` is an option of a command. A sentence has a question mark, an article, a pronoun or an
 * auxiliary verb, or more than ten words.
 */

/** A part of a question that chooses passages. */
export interface Keyword {
  readonly kind: "phrase" | "without" | "field";
  /** The field, of `field:value`. */
  readonly name?: string | undefined;
  /** What passages have, or have not, without quotation marks. */
  readonly value: string;
  /** As it stands in the question. */
  readonly written: string;
}

/** Begins with a space or the text, and ends before one or before a sign. */
const KEYWORD =
  /(?<=^|\s)(?:"(?<phrase>[^"]+)"|-(?<without>\p{L}[\p{L}\p{M}\p{N}_-]*)|(?<name>[\p{L}_][\p{L}\p{M}\p{N}_.-]*):(?!\/\/)(?:"(?<quoted>[^"]+)"|(?<value>[\p{L}\p{N}][^\s"]*)))(?=$|[\s.,;!?)])/gu;

/** Words that sentences have and keywords have not. */
const SENTENCE =
  /\?\s*$|\b(?:the|an?|is|are|was|were|be|been|am|do|does|did|can|could|should|would|will|may|must|has|have|had|i|you|he|she|it|we|they|this|these|those|which|who|whose|whom|what|when|where|why|how)\b/i;
/** More words beside phrases are a text. */
const MAX_WORDS = 10;

const LETTER = /[\p{L}\p{N}]/u;

export const straightQuotes = (question: string): string => question.replace(/[“”„]/g, '"');

/**
 * The parts of a question that could be keywords; what they name, an index knows.
 *
 * @param question with straight quotation marks
 */
export function keywordsOf(question: string): Keyword[] {
  const outside = question.replace(KEYWORD, " ");
  const words = outside.match(/[\p{L}\p{N}]+/gu) ?? [];
  const isSentence = SENTENCE.test(outside) || words.length > MAX_WORDS;
  return [...question.matchAll(KEYWORD)]
    .map(({ 0: written, groups = {} }): Keyword => {
      const { phrase, without, name, quoted, value } = groups;
      if (phrase !== undefined) return { kind: "phrase", value: phrase, written };
      if (without !== undefined) return { kind: "without", value: without, written };
      return { kind: "field", name, value: (quoted ?? value)!, written };
    })
    .filter(({ kind, value }) => (kind === "field" || !isSentence) && LETTER.test(value));
}
