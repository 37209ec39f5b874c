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
import { cutForReading, passageIds, readingQuestionIds, tokensOver } from "../text/prompts.ts";
import type { Span } from "../text/span.ts";
import { type TokenPlace, tokenPlaces } from "../text/token-places.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { answerSignals, type Match } from "./answer-signals.ts";
import { logPriorsOf, type MarginalInput, type MarginalReading, readMarginal } from "./marginal.ts";
import { bestPlace, type Place } from "./quotation.ts";
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
   * Receives the text of an answer piece by piece, with the position of its question. It receives
   * the text when the answer is complete from the reader `marginal`, and where a confidence is
   * required, by `minimumConfidence` or the calibration: an abstention has no text.
   */
  onText: callback<(text: string, question: number) => void>(),
  ...SIGNAL,
};

export interface ReadOptions
  extends Given<typeof ANSWER_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof READ_OPTIONS> {}

export type ResolvedReadOptions = Resolved<typeof READ_OPTIONS>;

/** A passage to read, with what a search found of it. */
export interface PassageToRead<P extends PassageInput> {
  readonly passage: P;
  /** r(x, z), the retrieval score. */
  readonly score?: number | undefined;
  readonly states?: StoredStates | undefined;
}

/** What is read for a question. */
export interface ToRead<P extends PassageInput> {
  readonly passages: readonly PassageToRead<P>[];
  /** How well a search has matched them; for others, the model compares them. */
  readonly match?: Match | undefined;
}

/** A passage that the model has read, with all properties that it was given with. */
export type Evidence<P extends PassageInput> = P & {
  /**
   * The target attention on this passage (ReAtt, section 3.2); the shares of a reply sum to 1. From
   * the reader `marginal`: P(z | x, y), the probability that the answer y comes from this passage;
   * what is missing from a sum of 1 is that of the null passage.
   */
  readonly attention: number;
  /**
   * Where `text` has the answer: where the decoder attended to, if it occurs several times.
   * Undefined if it does not occur or the model abstained.
   */
  readonly span?: Span | undefined;
  /** The number of its last tokens that were not read, because of a limit; absent if none. */
  readonly cutTokens?: number | undefined;
};

export interface Reply<P extends PassageInput> {
  /** Empty when `abstained`. A quotation is the characters of its passage. */
  readonly answer: string;
  /** Without the start token; with `</s>` if the model generated it. */
  readonly tokenIds: readonly number[];
  /**
   * The probability that the answer is right (exact match), if the model stores a calibration. It
   * also sees how well the passages match the question: low for one that they do not answer.
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
  /** Why a question of a batch could not be answered, such as its length; absent otherwise. */
  readonly error?: InputError | undefined;
  /** Whether there is no answer, none that can be read, or none that is probable enough. */
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
  found: readonly ToRead<P>[],
  options: ResolvedReadOptions,
): Promise<Omit<Reply<P>, "times">[]> {
  for (const [i, question] of questions.entries()) checkAnyPassage(question, found[i]!.passages);
  const passages = found.map((own) => own.passages.map(({ passage }) => passage));
  const stored = found.map((own) => own.passages.map(({ states }) => states));
  if (options.reader === "marginal") return readEach(model, questions, passages, stored, options);
  const inputs = questions.map((question, i) => ({
    ...readingInput(model.tokenizer, question, passages[i]!, options),
    relevances: relevancesOf(model.config, found[i]!.passages),
    stored: stored[i],
  }));
  // Below a threshold there is no answer, which is known at its end.
  const streams = options.onText && thresholdOf(model, options) === 0;
  const readings = await read(model, inputs, {
    ...readingOptions(model, options),
    onToken: streams ? streamText(model.tokenizer, inputs, passages, options.onText!) : undefined,
  });
  const replies: Omit<Reply<P>, "times">[] = [];
  for (const [i, question] of questions.entries()) {
    const written = answerOf(model, readings[i]!, inputs[i]!, passages[i]!, options);
    const match = found[i]!.match ?? (await matchOf(model, question, passages[i]!, options));
    const signals = answerSignals(question.text, readings[i]!, written.passages, match);
    const reply = fusionReply(model, readings[i]!, written, signals, options);
    if (!streams && reply.answer !== "") options.onText?.(reply.answer, i);
    replies.push(reply);
  }
  return replies;
}

/** Compares a question with its passages, if a calibration asks for it. */
async function matchOf(
  model: AnsweringModel,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  options: ResolvedReadOptions,
): Promise<Match | undefined> {
  if (!model.config.calibration) return undefined;
  return { similarities: await model.scorePassages(question, passages, options) };
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
  const inputs: (MarginalInput & PlacedInput)[] = [];
  for (const [i, question] of questions.entries()) {
    const all = [...passages[i]!, NULL_PASSAGE];
    const scores = await model.scorePassages(question, all, options);
    const logPriors = logPriorsOf(scores, model.config.retrievalScale);
    const read = readingInput(model.tokenizer, question, all, options);
    inputs.push({ ...read, logPriors, stored: stored[i] });
  }
  const readings = await readMarginal(model, inputs, readingOptions(model, options));
  return readings.map((reading, i) => {
    const written = answerOf(model, reading, inputs[i]!, passages[i]!, options);
    const reply = marginalReply(reading, written, options);
    if (reply.answer !== "") options.onText?.(reply.answer, i);
    return reply;
  });
}

const readingOptions = (
  { config }: AnsweringModel,
  { maxAnswerTokens: maxTokens, extractive = config.extractive, signal }: ResolvedReadOptions,
): ReadingOptions => ({ maxTokens, extractive, signal });

function checkAnyPassage({ text }: TokenizedQuestion, passages: readonly unknown[]): void {
  if (passages.length > 0) return;
  throw new InputError({
    where: `passages of question "${text.slice(0, 40)}"`,
    expected: "at least one passage",
    got: "none",
    remedy: "give passages, or search with a filter that leaves some",
  });
}

/** A question and its passages, as the decoder reads and quotes them. */
interface PlacedInput extends ReadingInput {
  /** The number of tokens of each passage beyond those that are read. */
  readonly cutTokens: readonly number[];
  /** For each passage, where its tokens stand in it. */
  readonly quotable: readonly (readonly (TokenPlace | undefined)[])[];
}

/** The tokens of a question and of its passages, cut to the limits of `options`. */
export function readingInput(
  tokenizer: Tokenizer,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  {
    maxPassageTokens,
    maxInputTokens,
  }: Pick<ResolvedReadOptions, "maxPassageTokens" | "maxInputTokens">,
): PlacedInput {
  const whole = readingQuestionIds(question.ids);
  const cut = passages.map((passage) => {
    const ids = passageIds(tokenizer, passage, maxPassageTokens);
    return maxInputTokens === undefined
      ? { question: whole, passage: ids }
      : cutForReading(whole, ids, maxInputTokens);
  });
  const ids = cut.map(({ passage }) => passage);
  return {
    question: cut[0]!.question,
    passages: ids,
    quotable: ids.map((own, i) => tokenPlaces(tokenizer, passages[i]!, own)),
    cutTokens: ids.map((own, i) => {
      const limit = maxInputTokens === undefined ? maxPassageTokens : own.length;
      return own.length < limit ? 0 : tokensOver(tokenizer, passages[i]!, own.length);
    }),
  };
}

/** The reply to a question without any passage to read. */
export const abstention = <P extends PassageInput>(): Omit<Reply<P>, "times"> => ({
  answer: "",
  tokenIds: [],
  confidence: 0,
  abstained: true,
  passages: [],
});

function fusionReply<P extends PassageInput>(
  model: AnsweringModel,
  { tokenIds, logProbabilities }: Reading,
  written: Written<P>,
  signals: AnswerSignals,
  options: ResolvedReadOptions,
): Omit<Reply<P>, "times"> {
  const { calibration } = model.config;
  const confidence = calibration
    ? calibratedConfidence(calibration, signals)
    : Math.exp(mean(logProbabilities));
  return toReply({ tokenIds, confidence, signals }, written, thresholdOf(model, options));
}

const thresholdOf = (
  { config: { calibration } }: AnsweringModel,
  { minimumConfidence = calibration?.threshold ?? 0 }: ResolvedReadOptions,
): number => minimumConfidence;

/** A calibration and its threshold were fitted to the reader `fusion`: they do not count here. */
function marginalReply<P extends PassageInput>(
  { tokenIds, logProbability }: MarginalReading,
  written: Written<P>,
  { minimumConfidence = 0 }: ResolvedReadOptions,
): Omit<Reply<P>, "times"> {
  return toReply({ tokenIds, confidence: Math.exp(logProbability) }, written, minimumConfidence);
}

/** An answer and the passages that it comes from. */
interface Written<P extends PassageInput> {
  /** Empty if the decoder wrote nothing that can be read. */
  readonly text: string;
  readonly passages: readonly Evidence<P>[];
}

/** The attention on passages is that of a reading, or of the marginal reader its posteriors. */
type AnyReading =
  | Pick<Reading, "tokenIds" | "places" | "attention">
  | Pick<MarginalReading, "tokenIds" | "places" | "posteriors">;

function answerOf<P extends PassageInput>(
  { config, tokenizer }: AnsweringModel,
  reading: AnyReading,
  { quotable, cutTokens }: PlacedInput,
  passages: readonly P[],
  { extractive = config.extractive }: ResolvedReadOptions,
): Written<P> {
  const { tokenIds, places } = reading;
  const attention = "attention" in reading ? reading.attention : reading.posteriors;
  const written = isReadable(tokenizer, tokenIds) ? tokenizer.decode(tokenIds) : "";
  const evidence = passages.map((passage, i) => {
    const place = bestPlace(places.filter((own) => own.passage === i));
    const quoted = place && quote(passage, quotable[i]!, place);
    const span = quoted ? quoted.span : spanIn(tokenizer, written, passage);
    const cut = cutTokens[i]! > 0 && { cutTokens: cutTokens[i]! };
    return { ...passage, attention: attention[i]!, span, ...cut };
  });
  const best = bestPlace(places);
  const quoted = best && quote(passages[best.passage]!, quotable[best.passage]!, best).text;
  const quotes = extractive || tokenizer.isUncased;
  const text = quotes ? (quoted ?? quotedFrom(evidence) ?? written) : written;
  const isPrompt = quoted === undefined && PROMPT_WORDS.test(text) && !quotedFrom(evidence);
  return { text: written === "" || isPrompt ? "" : text, passages: evidence };
}

/** What the prompt of a passage says beside its title and text (text/prompts.ts). */
const PROMPT_WORDS = /^(?:title|context|question|[:\s])*$/i;

/** Whether a token of an answer stands for characters that the model knows. */
const isReadable = (tokenizer: Tokenizer, tokenIds: readonly number[]): boolean =>
  tokenIds.some((id) => id !== tokenizer.unknownId && tokenizer.decode([id]).trim() !== "");

/** The characters of a place, with their span if they are in the text. */
function quote(
  { title = "", text }: PassageInput,
  places: readonly (TokenPlace | undefined)[],
  { first, end }: Pick<Place, "first" | "end">,
): { text: string; span: Span | undefined } {
  const { field, span } = places[first]!;
  const own = { start: span.start, end: places[end - 1]!.span.end };
  return field === "text"
    ? { text: text.slice(own.start, own.end), span: own }
    : { text: title.slice(own.start, own.end), span: undefined };
}

/** Where a text has an answer whose tokens it does not have, as in another case. */
const spanIn = (tokenizer: Tokenizer, written: string, { text }: PassageInput): Span | undefined =>
  findAnswerSpan(written, text, { accents: !tokenizer.isUncased });

/** The characters of the answer in the passage of greatest attention that contains it. */
function quotedFrom(evidence: readonly Evidence<PassageInput>[]): string | undefined {
  const quoted = evidence.filter(({ span }) => span);
  if (quoted.length === 0) return undefined;
  const { text, span } = quoted.reduce((a, b) => (b.attention > a.attention ? b : a));
  return text.slice(span!.start, span!.end);
}

function toReply<P extends PassageInput>(
  shared: Pick<Reply<P>, "tokenIds" | "confidence" | "signals">,
  { text, passages }: Written<P>,
  minimumConfidence: number,
): Omit<Reply<P>, "times"> {
  const confidence = text === "" ? 0 : shared.confidence;
  if (text !== "" && confidence >= minimumConfidence)
    return { ...shared, answer: text, abstained: false, passages };
  const withoutSpans = passages.map((passage) => ({ ...passage, span: undefined }));
  return { ...shared, confidence, answer: "", abstained: true, passages: withoutSpans };
}

/**
 * Sends the text of an answer as its tokens come. While a quotation has several places, it sends
 * the characters that these share, up to the end of a word. Other text is decoded again for each
 * token, because a token can change the text before it.
 */
function streamText(
  tokenizer: Tokenizer,
  inputs: readonly PlacedInput[],
  passages: readonly (readonly PassageInput[])[],
  onText: NonNullable<ReadOptions["onText"]>,
): NonNullable<ReadingOptions["onToken"]> {
  const streams = inputs.map(() => ({ ids: [] as number[], sent: 0 }));
  return (token, question, places) => {
    const stream = streams[question]!;
    stream.ids.push(token);
    const isComplete = token === tokenizer.eosId;
    const { quotable } = inputs[question]!;
    const left = isComplete
      ? [bestPlace(places)].flatMap((place) => place ?? [])
      : places.filter(({ passage, end }) => quotable[passage]![end - 1]!.ends);
    const quotes = left.map((place) =>
      quote(passages[question]![place.passage]!, quotable[place.passage]!, place),
    );
    const decodes = places.length === 0 && (isComplete || !tokenizer.isUncased);
    const text = decodes ? tokenizer.decode(stream.ids) : commonStart(quotes);
    if (text.length <= stream.sent) return;
    onText(text.slice(stream.sent), question);
    stream.sent = text.length;
  };
}

/** The longest beginning that all texts share. */
const commonStart = (quotes: readonly { readonly text: string }[]): string => {
  const [first, ...others] = quotes.map(({ text }) => text);
  if (first === undefined) return "";
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length);
};
