/** The interface of the tokenizers of T5 (tokenizer.ts) and of BERT (wordpiece.ts). */

/**
 * Converts text to token ids and back.
 *
 * @example
 * ```ts
 * import { ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const ids = model.tokenizer.encode("Where is Normandy?");
 * console.log(model.tokenizer.decode(ids)); // Where is Normandy?
 * ```
 */
export interface Tokenizer {
  /** Number of pieces and sentinels. The embedding may have more rows: T5 pads 32,100 to 32,128. */
  readonly vocabularySize: number;
  /** The id of `</s>`. */
  readonly eosId: number;
  /** Whether the model reads and writes lower case without accents, whatever the text has. */
  readonly isUncased: boolean;
  /** The id for characters that no piece represents, for example of another script. */
  readonly unknownId: number;
  /** What stands before questions and passages, if it is not what ReAtt has. */
  readonly prompts?: Prompts | undefined;
  /**
   * Encodes `text` without a final `</s>`. Invisible characters have no effect (normal-form.ts).
   * Sentinels in the text become sentinel ids; other control tokens are plain text.
   * With `limit`, returns the first `limit` ids and does not encode the rest of a long text.
   *
   * The time is linear in the length of the text.
   */
  encode(text: string, limit?: number): number[];
  /**
   * Decodes ids. Skips padding, `</s>` and ids beyond the vocabulary. Sentinels become
   * `<extra_id_N>`.
   */
  decode(ids: Iterable<number>): string;
}

/** What stands before a question, before the title and before the text of a passage. */
export interface Prompts {
  /** Before a question. */
  readonly question: string;
  /** Before the title of a passage. */
  readonly title: string;
  /** Between the title and the text. */
  readonly text: string;
  /** Before a text without a title. Default: `title` and `text`. */
  readonly untitled?: string | undefined;
}

/** What of a configuration a tokenizer needs. */
export interface TokenizerOptions {
  /**
   * Rows of the model's embedding. `encode` throws `InputError` for a text with a token beyond
   * them. Pieces are ordered by frequency, so a small embedding can encode most texts.
   */
  readonly vocabularySize?: number | undefined;
  readonly prompts?: Prompts | undefined;
}
