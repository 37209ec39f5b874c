/** Reads passages as text: questions and passages in, answers with their evidence out. */

import type { StoredStates } from "../encoder/state-cache.ts";
import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { type AnswerSignals, calibratedConfidence } from "../model/answer-calibration.ts";
import type { ModelConfig } from "../model/config.ts";
import { ANSWER_OPTIONS, INDEX_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { findAnswerSpan } from "../text/answer-span.ts";
import { NULL_PASSAGE, type PassageInput } from "../text/passage.ts";
import { cutForReading, passageIds, readingQuestionIds } from "../text/prompts.ts";
import type { Span } from "../text/span.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { answerSignals } from "./answer-signals.ts";
import { logPriorsOf, type MarginalReading, readMarginal } from "./marginal.ts";
import {
  type Reading,
  type ReadingInput,
  type ReadingModel,
  type ReadingOptions,
  read,
} from "./reader.ts";
import { relevances } from "./relevance.ts";

/** Options of `ReAtt.read`. */
export const READ_OPTIONS = {
  /** Longer passages are truncated. Default 512, as in the release. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  ...ANSWER_OPTIONS,
  /**
   * Receives the text of an answer piece by piece, with the position of its question. With several
   * beams, and from the reader `marginal`, it receives the text when the answer is complete.
   */
  onText: callback<(text: string, question: number) => void>(),
  /** Stops the work; the call then throws the reason of the signal. */
  ...SIGNAL,
};

export interface ReadOptions extends Given<typeof READ_OPTIONS> {}

export type ResolvedReadOptions = Resolved<typeof READ_OPTIONS>;

/** A passage to read, with what a search found of it. */
export interface PassageToRead<P extends PassageInput> {
  readonly passage: P;
  /** r(x, z), the retrieval score. */
  readonly score?: number | undefined;
  readonly states?: StoredStates | undefined;
}

/** A passage that the model has read, with all properties that it was given with. */
export type Evidence<P extends PassageInput> = P & {
  /**
   * The target attention on this passage (ReAtt, section 3.2); the shares of a reply sum to 1. From
   * the reader `marginal`: P(z | x, y), the probability that the answer y comes from this passage;
   * what is missing from a sum of 1 is that of the null passage.
   */
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
   * From the reader `marginal`: P(y | x), the marginal probability of the answer; a calibration
   * belongs to the reader `fusion`. 0 if the index has no passage.
   */
  readonly confidence: number;
  /**
   * What a calibration computes the confidence from; undefined if the index has no passage, and
   * from the reader `marginal`.
   */
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

/** What answers questions from passages. */
export interface AnsweringModel extends ReadingModel {
  readonly tokenizer: Tokenizer;
  /** r(x, z): the retrieval scores of passages, with float32 keys. */
  scorePassages(
    question: TokenizedQuestion,
    passages: readonly PassageInput[],
    options: Pick<ResolvedReadOptions, "maxPassageTokens" | "signal">,
  ): Promise<number[]>;
}

/**
 * Answers each question from its passages.
 *
 * @throws {InputError} if a question has no passage.
 */
export async function answerFromPassages<P extends PassageInput>(
  model: AnsweringModel,
  questions: readonly TokenizedQuestion[],
  found: readonly (readonly PassageToRead<P>[])[],
  options: ResolvedReadOptions,
): Promise<Omit<Reply<P>, "times">[]> {
  for (const [i, question] of questions.entries()) checkAnyPassage(question, found[i]!);
  const passages = found.map((own) => own.map(({ passage }) => passage));
  const stored = found.map((own) => own.map(({ states }) => states));
  if (options.reader === "marginal") return readEach(model, questions, passages, stored, options);
  const inputs = questions.map((question, i) => ({
    ...readingInput(model.tokenizer, question, passages[i]!, options),
    relevances: relevancesOf(model.config, found[i]!),
    stored: stored[i],
  }));
  const readings = await read(model, inputs, readingOptions(model, passages, options));
  return readings.map((reading, i) => fusionReply(model, reading, passages[i]!, options));
}

/** Undefined for passages without scores. */
function relevancesOf(
  config: ModelConfig,
  found: readonly PassageToRead<PassageInput>[],
): number[] | undefined {
  const scores = found.flatMap(({ score }) => score ?? []);
  return scores.length === found.length ? relevances(config, scores) : undefined;
}

/** The reader `marginal`: one passage at a time, and the null passage. */
async function readEach<P extends PassageInput>(
  model: AnsweringModel,
  questions: readonly TokenizedQuestion[],
  passages: readonly (readonly P[])[],
  stored: readonly ReadingInput["stored"][],
  options: ResolvedReadOptions,
): Promise<Omit<Reply<P>, "times">[]> {
  const inputs = [];
  for (const [i, question] of questions.entries()) {
    const all = [...passages[i]!, NULL_PASSAGE];
    const scores = await model.scorePassages(question, all, options);
    const logPriors = logPriorsOf(scores, model.config.retrievalScale);
    const read = readingInput(model.tokenizer, question, all, options);
    inputs.push({ ...read, logPriors, stored: stored[i] });
  }
  const readings = await readMarginal(model, inputs, readingOptions(model, passages, options));
  return readings.map((reading, i) =>
    marginalReply(model.tokenizer, reading, passages[i]!, options),
  );
}

function readingOptions(
  { tokenizer, config }: AnsweringModel,
  passages: readonly (readonly PassageInput[])[],
  { beams, maxAnswerTokens: maxTokens, onText, signal, ...options }: ResolvedReadOptions,
): ReadingOptions {
  const { lengthPenalty, earlyStopping, extractive = config.extractive } = options;
  const quotes = extractive && tokenizer.isUncased;
  const onToken = onText && streamText(tokenizer, quotes ? passages : undefined, onText);
  return { beams, maxTokens, lengthPenalty, earlyStopping, extractive, onToken, signal };
}

function checkAnyPassage({ text }: TokenizedQuestion, passages: readonly unknown[]): void {
  if (passages.length > 0) return;
  throw new InputError({
    where: `passages of question "${text.slice(0, 40)}"`,
    expected: "at least one passage",
    got: "none",
    remedy: "give passages, or search with a filter that leaves some",
  });
}

/** The token ids of a question and of its passages, cut to the limits of `options`. */
export function readingInput(
  tokenizer: Tokenizer,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  {
    maxPassageTokens,
    maxInputTokens,
  }: Pick<ResolvedReadOptions, "maxPassageTokens" | "maxInputTokens">,
): ReadingInput {
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

function fusionReply<P extends PassageInput>(
  { config: { calibration }, tokenizer }: AnsweringModel,
  reading: Reading,
  passages: readonly P[],
  { minimumConfidence = calibration?.threshold ?? 0 }: ResolvedReadOptions,
): Omit<Reply<P>, "times"> {
  const { tokenIds, logProbabilities, attention } = reading;
  const evidence = evidenceOf(tokenizer, tokenIds, passages, attention);
  const signals = answerSignals(reading, evidence);
  const confidence = calibration
    ? calibratedConfidence(calibration, signals)
    : Math.exp(mean(logProbabilities));
  return toReply(tokenizer, { tokenIds, confidence, signals }, evidence, minimumConfidence);
}

/** A calibration and its threshold were fitted to the reader `fusion`: they do not count here. */
function marginalReply<P extends PassageInput>(
  tokenizer: Tokenizer,
  { tokenIds, logProbability, posteriors }: MarginalReading,
  passages: readonly P[],
  { minimumConfidence = 0 }: ResolvedReadOptions,
): Omit<Reply<P>, "times"> {
  const evidence = evidenceOf(tokenizer, tokenIds, passages, posteriors);
  const confidence = Math.exp(logProbability);
  return toReply(tokenizer, { tokenIds, confidence }, evidence, minimumConfidence);
}

/** @param attention of each passage; further values are not those of a passage */
function evidenceOf<P extends PassageInput>(
  tokenizer: Tokenizer,
  tokenIds: readonly number[],
  passages: readonly P[],
  attention: readonly number[],
): Evidence<P>[] {
  const written = tokenizer.decode(tokenIds);
  return passages.map((passage, i) => ({
    ...passage,
    attention: attention[i]!,
    span: spanIn(tokenizer, written, passage),
  }));
}

const spanIn = (tokenizer: Tokenizer, written: string, { text }: PassageInput): Span | undefined =>
  findAnswerSpan(written, text, { accents: !tokenizer.isUncased });

function toReply<P extends PassageInput>(
  tokenizer: Tokenizer,
  shared: Pick<Reply<P>, "tokenIds" | "confidence" | "signals">,
  evidence: readonly Evidence<P>[],
  minimumConfidence: number,
): Omit<Reply<P>, "times"> {
  if (shared.confidence < minimumConfidence) {
    const withoutSpans = evidence.map((passage) => ({ ...passage, span: undefined }));
    return { ...shared, answer: "", abstained: true, passages: withoutSpans };
  }
  const written = tokenizer.decode(shared.tokenIds);
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

/**
 * Sends the text of an answer as its tokens come. Decodes all tokens again for each new one,
 * because a token can change the text before it.
 *
 * @param quoted of an uncased model that quotes: the passages of each question, whose characters
 *   are sent. What does not occur in them yet, such as half of a word, waits for the next token
 */
function streamText(
  tokenizer: Tokenizer,
  quoted: readonly (readonly PassageInput[])[] | undefined,
  onText: NonNullable<ReadOptions["onText"]>,
) {
  const streams = new Map<number, { ids: number[]; sent: number }>();
  return (token: number, question: number): void => {
    const stream = streams.get(question) ?? { ids: [], sent: 0 };
    streams.set(question, stream);
    stream.ids.push(token);
    const written = tokenizer.decode(stream.ids);
    const isComplete = token === tokenizer.eosId;
    const text = quoted
      ? (quotation(tokenizer, written, quoted[question]!) ?? (isComplete ? written : ""))
      : written;
    if (text.length <= stream.sent) return;
    onText(text.slice(stream.sent), question);
    stream.sent = text.length;
  };
}

/** The characters of the first passage that contains what is written. */
function quotation(
  tokenizer: Tokenizer,
  written: string,
  passages: readonly PassageInput[],
): string | undefined {
  for (const passage of passages) {
    const span = spanIn(tokenizer, written, passage);
    if (span) return passage.text.slice(span.start, span.end);
  }
  return undefined;
}
