/** Reads passages as text: questions and passages in, answers with their evidence out. */

import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { type AnswerSignals, calibratedConfidence } from "../model/answer-calibration.ts";
import { ANSWER_OPTIONS, INDEX_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { findAnswerSpan, type Span } from "../text/answer-span.ts";
import type { PassageInput } from "../text/passage.ts";
import { cutForReading, passageIds, readingQuestionIds } from "../text/prompts.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { answerSignals } from "./answer-signals.ts";
import { type Reading, type ReadingInput, type ReadingModel, read } from "./reader.ts";

/** Options of `ReAtt.read`. */
export const READ_OPTIONS = {
  /** Longer passages are truncated. Default 512, as in the release. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  ...ANSWER_OPTIONS,
  /**
   * Receives the text of an answer piece by piece, with the position of its question. With several
   * beams it receives the text when the answer is complete.
   */
  onText: callback<(text: string, question: number) => void>(),
  /** Stops the work; the call then throws the reason of the signal. */
  ...SIGNAL,
};

export interface ReadOptions extends Given<typeof READ_OPTIONS> {}

export type ResolvedReadOptions = Resolved<typeof READ_OPTIONS>;

/** A passage that the model has read, with all properties that it was given with. */
export type Evidence<P extends PassageInput> = P & {
  /** The target attention on this passage (ReAtt, section 3.2); the shares of a reply sum to 1. */
  readonly attention: number;
  /** Where the answer occurs in `text`; undefined if it does not occur or the model abstained. */
  readonly span?: Span | undefined;
};

export interface Reply<P extends PassageInput> {
  /** Empty when `abstained`. */
  readonly answer: string;
  /** Without the start token; with `</s>` if the model generated it. */
  readonly tokenIds: readonly number[];
  /**
   * The probability that the answer is right (exact match), if the model stores a calibration.
   * Otherwise the geometric mean of the probabilities of the tokens, which is no such probability.
   * 0 if the index has no passage.
   */
  readonly confidence: number;
  /** What a calibration computes the confidence from; undefined if the index has no passage. */
  readonly signals?: AnswerSignals | undefined;
  readonly abstained: boolean;
  /** The passages that were read, in the order in which they were given. */
  readonly passages: readonly Evidence<P>[];
  /** Milliseconds: the time of the batch divided by its number of questions. */
  readonly times: { readonly retrieve: number; readonly read: number };
}

/** A question with the token ids of its retrieval prompt, which end with `</s>`. */
export interface TokenizedQuestion {
  readonly text: string;
  readonly ids: readonly number[];
}

/**
 * Answers each question from its passages.
 *
 * @throws {InputError} if a question has no passage.
 */
export async function answerFromPassages<P extends PassageInput>(
  model: ReadingModel & { readonly tokenizer: Tokenizer },
  questions: readonly TokenizedQuestion[],
  passages: readonly (readonly P[])[],
  options: ResolvedReadOptions,
): Promise<Omit<Reply<P>, "times">[]> {
  const inputs = questions.map((question, i) =>
    readingInput(model.tokenizer, question, passages[i]!, options),
  );
  const { beams, maxAnswerTokens, lengthPenalty, earlyStopping, extractive } = options;
  const { onText, signal } = options;
  const readings = await read(model, inputs, {
    ...{ beams, maxTokens: maxAnswerTokens, lengthPenalty, earlyStopping, extractive, signal },
    onToken: onText && streamText(model.tokenizer, onText),
  });
  return readings.map((reading, i) => toReply(model, reading, passages[i]!, options));
}

function readingInput(
  tokenizer: Tokenizer,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  { maxPassageTokens, maxInputTokens }: ResolvedReadOptions,
): ReadingInput {
  if (passages.length === 0)
    throw new InputError({
      where: `passages of question "${question.text.slice(0, 40)}"`,
      expected: "at least one passage",
      got: "none",
      remedy: "give passages, or search with a filter that leaves some",
    });
  const ids = readingQuestionIds(question.ids);
  const all = passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens));
  if (maxInputTokens === undefined) return { question: ids, passages: all };
  const cut = all.map((passage) => cutForReading(ids, passage, maxInputTokens));
  return { question: cut[0]!.question, passages: cut.map(({ passage }) => passage) };
}

/** The reply to a question without any passage to read. */
export const abstention = <P extends PassageInput>(): Omit<Reply<P>, "times"> => ({
  ...{ answer: "", tokenIds: [], confidence: 0, abstained: true, passages: [] },
});

function toReply<P extends PassageInput>(
  { config: { calibration }, tokenizer }: ReadingModel & { readonly tokenizer: Tokenizer },
  reading: Reading,
  passages: readonly P[],
  { minimumConfidence = calibration?.threshold ?? 0 }: ResolvedReadOptions,
): Omit<Reply<P>, "times"> {
  const { tokenIds, logProbabilities, attention } = reading;
  const written = tokenizer.decode(tokenIds);
  const accents = !tokenizer.isUncased;
  const evidence = passages.map((passage, i) => ({
    ...passage,
    attention: attention[i]!,
    span: findAnswerSpan(written, passage.text, { accents }),
  }));
  const signals = answerSignals(reading, evidence);
  const confidence = calibration
    ? calibratedConfidence(calibration, signals)
    : Math.exp(mean(logProbabilities));
  const shared = { tokenIds, confidence, signals };
  if (confidence < minimumConfidence) {
    const withoutSpans = evidence.map((passage) => ({ ...passage, span: undefined }));
    return { ...shared, answer: "", abstained: true, passages: withoutSpans };
  }
  const answer = tokenizer.isUncased ? (asQuoted(evidence) ?? written) : written;
  return { ...shared, answer, abstained: false, passages: evidence };
}

/** The characters of the answer in the passage of greatest attention that contains it. */
function asQuoted(evidence: readonly Evidence<PassageInput>[]): string | undefined {
  const quoted = evidence.filter(({ span }) => span);
  if (quoted.length === 0) return undefined;
  const { text, span } = quoted.reduce((a, b) => (b.attention > a.attention ? b : a));
  return text.slice(span!.start, span!.end);
}

/** Decodes all tokens again for each new one, because a token can change the text before it. */
function streamText(tokenizer: Tokenizer, onText: NonNullable<ReadOptions["onText"]>) {
  const generated = new Map<number, number[]>();
  return (token: number, question: number): void => {
    const ids = generated.get(question) ?? [];
    const before = tokenizer.decode(ids);
    ids.push(token);
    generated.set(question, ids);
    const text = tokenizer.decode(ids).slice(before.length);
    if (text) onText(text, question);
  };
}
