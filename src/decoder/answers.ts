/** Reads passages as text: questions and passages in, answers with their evidence out. */

import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { type AnswerSignals, calibratedConfidence } from "../model/answer-calibration.ts";
import type { ModelConfig } from "../model/config.ts";
import { INDEX_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { ANSWER_OPTIONS } from "../options/search-request.ts";
import { findAnswerSpan } from "../text/answer-span.ts";
import type { LinkOf } from "../text/link.ts";
import { NULL_PASSAGE, type PassageInput } from "../text/passage.ts";
import type { Span } from "../text/span.ts";
import {
  cutForReading,
  type FieldSpan,
  passageIds,
  readingQuestionIds,
  tokensOver,
} from "../text/tokens/prompts.ts";
import type { TokenPlace } from "../text/tokens/token-places.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { trimQuotation } from "../text/trim-quotation.ts";
import { answerSignals, type Match } from "./answer-signals.ts";
import { type Evidence, evidenceOf, type WeightedPassage, type WeightedToken } from "./evidence.ts";
import { logPriorsOf, type MarginalInput, type MarginalReading, readMarginal } from "./marginal.ts";
import type { PlaceCache } from "./place-cache.ts";
import { bestPlace, type Place } from "./quotation.ts";
import {
  type Reading,
  type ReadingInput,
  type ReadingModel,
  type ReadingOptions,
  read,
} from "./reader.ts";
import { otherRecords } from "./records.ts";
import { relevances } from "./relevance.ts";
import { type Source, sourceOf } from "./source.ts";
import {
  askedTerms,
  missingSpecifics,
  repeatsQuestion,
  specificsOf,
  unknownOf,
} from "./support.ts";
import {
  chooseWindows,
  type PassageToRead,
  type ReadWindow,
  type ReadWindows,
  wholePassages,
} from "./windows.ts";

/** Options of `ReAtt.read`. */
export const READ_OPTIONS = {
  /** Longer passages are read in windows of whole sentences. Default 512, as in the release. */
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

/** What is read for a question. */
export interface ToRead<P extends PassageInput> {
  readonly passages: readonly PassageToRead<P>[];
  /** How well a search has matched them; for others, the model compares them. */
  readonly match?: Match | undefined;
}

/** A passage with what reading says of it, and all properties that it was given with. */
export type ReadPassage<P extends PassageInput> = P & {
  /**
   * The target attention on this passage (ReAtt, section 3.2); the shares of those that were read
   * sum to 1, and that of a passage that was not read is 0. From the reader `marginal`:
   * P(z | x, y), the probability that the answer y comes from this passage; what is missing from a
   * sum of 1 is that of the null passage.
   */
  readonly attention: number;
  /**
   * Where `text` has the answer: where the decoder attended to, if it occurs several times.
   * Undefined if it does not occur, the passage was not read, or the model abstained.
   */
  readonly span?: Span | undefined;
  /**
   * The number of its tokens that were not read; absent if none. A long passage is read in windows,
   * unless `maxInputTokens` cuts it. At most ten windows are read, or as many as there are
   * passages: those that match the question best.
   */
  readonly cutTokens?: number | undefined;
};

export interface Reply<P extends PassageInput> {
  /**
   * Empty if it is not probable enough; there can be evidence without it. A quotation is the
   * characters of its passage.
   */
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
  /** Where the answer stands; undefined if it stands in no passage, or there is no answer. */
  readonly source?: Source | undefined;
  /**
   * The blocks that most probably answer the question, at most three, best first: what a person
   * reads to find or to check the answer. None if no block is probable enough.
   */
  readonly evidence: readonly Evidence[];
  /**
   * Names, numbers and codes of the question that no passage has which the search may return;
   * absent if there are none. An answer is then probably about something else.
   */
  readonly unknown?: readonly string[] | undefined;
  /** Why a question of a batch could not be answered, such as its length; absent otherwise. */
  readonly error?: InputError | undefined;
  /**
   * Whether there is neither an answer nor evidence. Of a model without a calibration of blocks:
   * whether there is no answer that can be read and is probable enough.
   */
  readonly abstained: boolean;
  /**
   * Of `answer`, the best passages: `topK`, of which the first `readTopK` were read. Of `read`, the
   * passages in the order in which they were given.
   */
  readonly passages: readonly ReadPassage<P>[];
  /** Milliseconds: the time of the batch divided by its number of questions. */
  readonly times: { readonly retrieve: number; readonly read: number };
}

/** A reply before the time of its batch is known. */
export type UntimedReply<P extends PassageInput> = Omit<Reply<P>, "times">;

/** How questions are answered. */
export interface AnsweringOptions extends ResolvedReadOptions {
  /** Links the passages of an index. Default: only their fields `url` do. */
  readonly linkOf?: LinkOf | undefined;
}

/** A question with the token ids of its retrieval prompt, which end with `</s>`. */
export interface TokenizedQuestion {
  readonly text: string;
  readonly ids: readonly number[];
}

/** What answers questions from passages. */
export interface AnsweringModel extends ReadingModel {
  readonly tokenizer: Tokenizer;
  readonly places: PlaceCache;
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
  options: AnsweringOptions,
): Promise<UntimedReply<P>[]> {
  for (const [i, question] of questions.entries()) checkAnyPassage(question, found[i]!.passages);
  const windows = await Promise.all(
    questions.map((question, i) => windowsOfQuestion(model, question, found[i]!.passages, options)),
  );
  const passages = found.map((own) => own.passages.map(({ passage }) => passage));
  if (options.reader === "marginal") return readEach(model, questions, passages, windows, options);
  const inputs = questions.map((question, i) => ({
    ...placed(model, question, readingInput(model.tokenizer, question, windows[i]!, options)),
    relevances: relevancesOf(model.config, windows[i]!.windows),
  }));
  // Below a threshold there is no answer, which is known at its end.
  const least = thresholdsOf(model, options);
  const streams = options.onText && least.answer === 0 && !least.block;
  const readings = await read(model, inputs, {
    ...readingOptions(model, options),
    onToken: streams ? streamText(model.tokenizer, inputs, options.onText!) : undefined,
  });
  const replies: UntimedReply<P>[] = [];
  for (const [i, question] of questions.entries()) {
    const written = answerOf(model, question, readings[i]!, inputs[i]!, passages[i]!, options);
    const match = found[i]!.match ?? (await matchOf(model, question, passages[i]!, options));
    const signals = answerSignals(question.text, readings[i]!, written.passages, match);
    const { emptiness } = readings[i]!;
    const about = { ...signals, question: question.text, emptiness, known: match?.known };
    const { blockCalibration } = model.config;
    const read = weightedPassages(
      model.tokenizer,
      inputs[i]!,
      readings[i]!.tokenAttention,
      written.passages,
    );
    const evidence = evidenceOf(read, about, blockCalibration, options.linkOf);
    const reply = {
      ...fusionReply(model, readings[i]!, { ...written, evidence }, signals, options),
      ...unknownWords(question, passages[i]!, match),
    };
    if (!streams && reply.answer !== "") options.onText?.(reply.answer, i);
    replies.push(reply);
  }
  return replies;
}

/** What a question names and no passage has. */
function unknownWords(
  { text }: TokenizedQuestion,
  passages: readonly PassageInput[],
  match: Match | undefined,
): Pick<UntimedReply<PassageInput>, "unknown"> {
  if (!match?.known) return {};
  const unknown = unknownOf(missingSpecifics(specificsOf(text), passages), match.known);
  return unknown.length > 0 ? { unknown: unknown.map(({ written }) => written) } : {};
}

/** The windows that are read of the passages of a question. As in the release, a limit cuts. */
async function windowsOfQuestion(
  model: AnsweringModel,
  question: TokenizedQuestion,
  passages: readonly PassageToRead<PassageInput>[],
  options: ResolvedReadOptions,
): Promise<ReadWindows> {
  if (options.maxInputTokens !== undefined) return wholePassages(passages);
  const { tokenizer } = model;
  return chooseWindows(tokenizer, question.text, passages, options.maxPassageTokens, (some) =>
    model.scorePassages(question, some, options),
  );
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
  chosen: readonly ReadWindows[],
  options: AnsweringOptions,
): Promise<UntimedReply<P>[]> {
  const inputs: (MarginalInput & PlacedInput)[] = [];
  for (const [i, question] of questions.entries()) {
    const { windows, unread } = chosen[i]!;
    const none = { passage: NULL_PASSAGE, owner: passages[i]!.length, start: 0 };
    const all = [...windows, none];
    const scored = all.map(({ passage }) => passage);
    const scores = await model.scorePassages(question, scored, options);
    const logPriors = logPriorsOf(scores, model.config.retrievalScale);
    const read = readingInput(model.tokenizer, question, { windows: all, unread }, options);
    inputs.push({ ...placed(model, question, read), logPriors });
  }
  const readings = await readMarginal(model, inputs, readingOptions(model, options));
  return readings.map((reading, i) => {
    const written = answerOf(model, questions[i]!, reading, inputs[i]!, passages[i]!, options);
    const attention = inputs[i]!.passages.map(({ length }) => new Float32Array(length));
    for (const { passage, first, end } of reading.places)
      attention[passage]!.fill(reading.posteriors[passage]! / (end - first), first, end);
    const read = weightedPassages(model.tokenizer, inputs[i]!, attention, written.passages);
    const evidence = evidenceOf(read, undefined, undefined, options.linkOf);
    const reply = marginalReply(reading, { ...written, evidence }, options);
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

/** A question and windows of its passages, as the decoder reads them. */
interface WindowInput extends ReadingInput {
  readonly windows: readonly ReadWindow[];
  /** The number of tokens of each passage that are not read. */
  readonly unread: readonly number[];
}

/** The same, as the decoder quotes them. */
interface PlacedInput extends WindowInput {
  /** For each window, where its tokens stand in it. */
  readonly quotable: readonly (readonly (TokenPlace | undefined)[])[];
}

/** The tokens of records that the question does not mean cannot be quoted. */
function placed(
  { tokenizer, places }: Pick<AnsweringModel, "tokenizer" | "places">,
  { text }: TokenizedQuestion,
  input: WindowInput,
): PlacedInput {
  const asked = { terms: askedTerms(text), specifics: specificsOf(text) };
  const quotable = input.passages.map((ids, i) => {
    const { passage } = input.windows[i]!;
    const others = otherRecords(asked, passage);
    // The title of an article names it; headings of a document are no answer.
    const hasName = passage.metadata?._headings === undefined;
    const isQuotable = ({ field, span: { start, end } }: TokenPlace): boolean =>
      field === "title"
        ? hasName
        : !others.some((record) => start < record.end && record.start < end);
    return places
      .of(tokenizer, passage, ids)
      .map((place) => (place && isQuotable(place) ? place : undefined));
  });
  return { ...input, quotable };
}

/** The tokens of a question and of windows of its passages, cut to the limits of `options`. */
export function readingInput(
  tokenizer: Tokenizer,
  question: TokenizedQuestion,
  { windows, unread }: ReadWindows,
  {
    maxPassageTokens,
    maxInputTokens,
  }: Pick<ResolvedReadOptions, "maxPassageTokens" | "maxInputTokens">,
): WindowInput {
  const whole = readingQuestionIds(question.ids);
  const cut = windows.map(({ passage }) => {
    const ids = passageIds(tokenizer, passage, maxPassageTokens);
    return maxInputTokens === undefined
      ? { question: whole, passage: ids }
      : cutForReading(whole, ids, maxInputTokens);
  });
  const passages = cut.map(({ passage }) => passage);
  const counts = [...unread];
  for (const [i, { owner, passage }] of windows.entries()) {
    const own = passages[i]!;
    const limit = maxInputTokens === undefined ? maxPassageTokens : own.length;
    if (own.length >= limit) counts[owner]! += tokensOver(tokenizer, passage, own.length);
  }
  return {
    question: cut[0]!.question,
    passages,
    windows,
    unread: counts,
    stored: windows.map(({ states }) => states),
  };
}

/** The reply to a question without any passage to read. */
export const abstention = <P extends PassageInput>(): UntimedReply<P> => ({
  answer: "",
  tokenIds: [],
  confidence: 0,
  abstained: true,
  evidence: [],
  passages: [],
});

function fusionReply<P extends PassageInput>(
  model: AnsweringModel,
  { tokenIds, logProbabilities }: Reading,
  written: Answered<P>,
  signals: AnswerSignals,
  options: ResolvedReadOptions,
): UntimedReply<P> {
  const { calibration } = model.config;
  const confidence = calibration
    ? calibratedConfidence(calibration, signals)
    : Math.exp(mean(logProbabilities));
  return toReply({ tokenIds, confidence, signals }, written, thresholdsOf(model, options));
}

/** The least probabilities that are shown. */
interface Thresholds {
  readonly answer: number;
  /** Undefined if blocks have no probability: they then stay with the answer. */
  readonly block?: number | undefined;
}

const thresholdsOf = (
  { config: { calibration, blockCalibration } }: AnsweringModel,
  { minimumConfidence }: ResolvedReadOptions,
): Thresholds => ({
  answer: minimumConfidence ?? calibration?.threshold ?? 0,
  block: blockCalibration && (minimumConfidence ?? blockCalibration.threshold ?? 0),
});

/** A calibration and its threshold were fitted to the reader `fusion`: they do not count here. */
function marginalReply<P extends PassageInput>(
  { tokenIds, logProbability }: MarginalReading,
  written: Answered<P>,
  { minimumConfidence = 0 }: ResolvedReadOptions,
): UntimedReply<P> {
  const confidence = Math.exp(logProbability);
  return toReply({ tokenIds, confidence }, written, { answer: minimumConfidence });
}

/** An answer and the passages that it comes from. */
interface Written<P extends PassageInput> {
  readonly source: Source | undefined;
  /** Empty if the decoder wrote nothing that can be read. */
  readonly text: string;
  readonly passages: readonly ReadPassage<P>[];
}

interface Answered<P extends PassageInput> extends Written<P> {
  readonly evidence: readonly Evidence[];
}

/** The passages that were read, with the attention on each token of their texts that is known. */
function weightedPassages(
  { unknownId }: Tokenizer,
  { windows, quotable, passages: ids }: PlacedInput,
  attention: readonly Float32Array[],
  passages: readonly ReadPassage<PassageInput>[],
): WeightedPassage[] {
  const tokens = passages.map((): WeightedToken[] => []);
  for (const [i, { owner, start: offset }] of windows.entries())
    for (const [position, place] of quotable[i]!.entries())
      if (place?.field === "text" && owner < passages.length && ids[i]![position] !== unknownId) {
        const { start, end } = place.span;
        const weight = attention[i]![position]!;
        tokens[owner]!.push({ start: offset + start, end: offset + end, weight });
      }
  return passages.map((passage, i) => ({ passage, tokens: tokens[i]!, span: passage.span }));
}

/** The attention on passages is that of a reading, or of the marginal reader its posteriors. */
type AnyReading =
  | Pick<Reading, "tokenIds" | "places" | "attention">
  | Pick<MarginalReading, "tokenIds" | "places" | "posteriors">;

function answerOf<P extends PassageInput>(
  { config, tokenizer }: AnsweringModel,
  { text: question }: TokenizedQuestion,
  reading: AnyReading,
  { windows, quotable, unread }: PlacedInput,
  passages: readonly P[],
  { extractive = config.extractive, linkOf }: AnsweringOptions,
): Written<P> {
  const { tokenIds, places } = reading;
  const attention = "attention" in reading ? reading.attention : reading.posteriors;
  const written = isReadable(tokenizer, tokenIds) ? tokenizer.decode(tokenIds) : "";
  const evidence = passages.map((passage, owner) => {
    const isOwn = (window: number): boolean => windows[window]!.owner === owner;
    const place = bestPlace(places.filter((own) => isOwn(own.passage)));
    const quoted = place && quote(windows[place.passage]!, quotable[place.passage]!, place);
    const span = quoted ? spanInText(quoted.place) : spanIn(tokenizer, written, passage);
    const share = attention.reduce((sum, own, i) => (isOwn(i) ? sum + own : sum), 0);
    const cut = unread[owner]! > 0 && { cutTokens: unread[owner]! };
    return { ...passage, attention: Math.min(1, share), span, ...cut };
  });
  const best = bestPlace(places);
  const quoted = best && quote(windows[best.passage]!, quotable[best.passage]!, best);
  const found = quoted
    ? { passage: evidence[windows[best.passage]!.owner]!, place: quoted.place }
    : quotedFrom(evidence);
  const characters = found && charactersOf(found.passage, found.place);
  const text = (extractive || tokenizer.isUncased ? characters : undefined) ?? written;
  const isPrompt = !found && PROMPT_WORDS.test(text);
  const isMark = LIST_MARK.test(text);
  const saysNothing = written === "" || isPrompt || isMark || repeatsQuestion(question, text);
  const source = found && sourceOf(found.passage, found.place, linkOf);
  return { source, text: saysNothing ? "" : text, passages: evidence };
}

/** The number of an item or of a section: `1.`, `(b)`. */
const LIST_MARK = /^\(?(?:\d{1,3}|[a-z])[.)]$/i;

/** What the prompt of a passage says beside its title and text (text/prompts.ts). */
const PROMPT_WORDS = /^(?:title|context|question|[:\s])*$/i;

/** Whether a token of an answer stands for characters that the model knows. */
const isReadable = (tokenizer: Tokenizer, tokenIds: readonly number[]): boolean =>
  tokenIds.some((id) => id !== tokenizer.unknownId && tokenizer.decode([id]).trim() !== "");

/** The characters of a place in a window, and where they are in its passage. */
function quote(
  { passage, start }: ReadWindow,
  places: readonly (TokenPlace | undefined)[],
  { first, end }: Pick<Place, "first" | "end">,
): { readonly text: string; readonly place: FieldSpan } {
  const { field, span } = places[first]!;
  const quoted = { start: span.start, end: places[end - 1]!.span.end };
  const own = trimQuotation(field === "text" ? passage.text : (passage.title ?? ""), quoted);
  const offset = field === "text" ? start : 0;
  return {
    text: charactersOf(passage, { field, span: own }),
    place: { field, span: { start: offset + own.start, end: offset + own.end } },
  };
}

const charactersOf = (
  { title = "", text }: Pick<PassageInput, "title" | "text">,
  { field, span }: FieldSpan,
): string => (field === "text" ? text : title).slice(span.start, span.end);

const spanInText = ({ field, span }: FieldSpan): Span | undefined =>
  field === "text" ? span : undefined;

/** Where a text has an answer whose tokens it does not have, as in another case. */
const spanIn = (tokenizer: Tokenizer, written: string, { text }: PassageInput): Span | undefined =>
  findAnswerSpan(written, text, { accents: !tokenizer.isUncased });

/** The place of the answer in the passage of greatest attention that contains it. */
function quotedFrom<P extends PassageInput>(
  evidence: readonly ReadPassage<P>[],
): { readonly passage: ReadPassage<P>; readonly place: FieldSpan } | undefined {
  const quoted = evidence.filter(({ span }) => span);
  if (quoted.length === 0) return undefined;
  const passage = quoted.reduce((a, b) => (b.attention > a.attention ? b : a));
  return { passage, place: { field: "text", span: passage.span! } };
}

/** Leaves out what is not probable enough. */
function toReply<P extends PassageInput>(
  shared: Pick<Reply<P>, "tokenIds" | "confidence" | "signals">,
  { text, passages, source, evidence }: Answered<P>,
  least: Thresholds,
): UntimedReply<P> {
  const confidence = text === "" ? 0 : shared.confidence;
  const isProbable = text !== "" && confidence >= least.answer;
  const [best] = evidence;
  const hasEvidence = best && least.block !== undefined ? best.score >= least.block : isProbable;
  const reply = { ...shared, confidence, abstained: !hasEvidence };
  const shown = hasEvidence ? evidence : [];
  if (isProbable && hasEvidence)
    return { ...reply, answer: text, ...(source && { source }), evidence: shown, passages };
  return {
    ...{ ...reply, answer: "" },
    evidence: shown.map(({ span: _, ...block }) => block),
    passages: passages.map((passage) => ({ ...passage, span: undefined })),
  };
}

/**
 * Sends the text of an answer as its tokens come. While a quotation has several places, it sends
 * the characters that these share, up to the end of a word. Other text is decoded again for each
 * token, because a token can change the text before it.
 */
function streamText(
  tokenizer: Tokenizer,
  inputs: readonly PlacedInput[],
  onText: NonNullable<ReadOptions["onText"]>,
): NonNullable<ReadingOptions["onToken"]> {
  const streams = inputs.map(() => ({ ids: [] as number[], sent: 0 }));
  return (token, question, places) => {
    const stream = streams[question]!;
    stream.ids.push(token);
    const isComplete = token === tokenizer.eosId;
    const { windows, quotable } = inputs[question]!;
    const left = isComplete
      ? [bestPlace(places)].flatMap((place) => place ?? [])
      : places.filter(({ passage, end }) => quotable[passage]![end - 1]!.ends);
    const quotes = left.map((place) =>
      quote(windows[place.passage]!, quotable[place.passage]!, place),
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
