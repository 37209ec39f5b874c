/**
 * The evidence of a reply: the blocks of the passages that were read which most probably answer the
 * question. A model that stores a calibration of blocks ranks by it, another by the decoder's
 * attention on their tokens.
 */

import {
  type BlockCalibration,
  type BlockSignals,
  blockProbability,
} from "../model/block-calibration.ts";
import type { BlockKind } from "../text/block-kinds.ts";
import type { LinkOf } from "../text/link.ts";
import type { PassageInput } from "../text/passage.ts";
import { type Excerpt, excerptOf, type ShownBlock, shownBlocks } from "../text/shown-blocks.ts";
import type { Span } from "../text/span.ts";
import { countWords } from "../text/units.ts";
import { type PlaceOfPassage, placeOfPassage } from "./source.ts";
import {
  missingSignals,
  missingSpecifics,
  type Specific,
  specificsOf,
  unmatchedShare,
} from "./support.ts";

/** A block of a passage: a paragraph, a list with its sentence, a table, code, a definition. */
export interface Evidence extends PlaceOfPassage {
  /**
   * The block, with what announces it. Of a block of more than 100 words the part around the most
   * probable tokens; what announces it, or the head of the table, then stands before it on a line.
   */
  readonly text: string;
  /** Where the block, or the part that is shown, is in the text of the passage. */
  readonly start: number;
  /** The character after the last. */
  readonly end: number;
  /** What the block is: `paragraph`, `list`, `table`, `code` … */
  readonly kind: BlockKind;
  /**
   * The probability that the block answers the question, if the model stores a calibration of
   * blocks; otherwise the share of the decoder's attention on it.
   */
  readonly score: number;
  /** Where `text` has the answer; absent if the answer is elsewhere, or there is none. */
  readonly span?: Span | undefined;
  /** What the probability is computed from; absent from the reader `marginal`. */
  readonly signals?: BlockSignals | undefined;
}

/** A passage that was read. */
export interface WeightedPassage {
  readonly passage: PassageInput;
  /** The attention on each token of its text that was read and that the model knows. */
  readonly tokens: readonly WeightedToken[];
  /** Where it has the answer. */
  readonly span?: Span | undefined;
}

export interface WeightedToken extends Span {
  readonly weight: number;
}

/** What a question and its reading tell of all blocks. */
export interface QuestionSignals extends Pick<BlockSignals, "emptiness"> {
  readonly question: string;
  readonly similarity?: number | undefined;
  readonly lead?: number | undefined;
  /** The specifics of the question (support.ts) that some passage of the index has. */
  readonly known?: ReadonlySet<string> | undefined;
}

/** As many as a person reads. */
const SHOWN = 3;
/** As many are compared: those with the most attention. */
const COMPARED = 6;
const LEAST_ATTENTION = 1e-5;

/** A block that could be shown. */
interface Candidate {
  readonly read: WeightedPassage;
  readonly block: ShownBlock;
  readonly attention: number;
  readonly excerpt: Excerpt;
}

/**
 * The best blocks, best first.
 *
 * @param about undefined for a reading without signals: the attention then ranks
 */
export function evidenceOf(
  passages: readonly WeightedPassage[],
  about: QuestionSignals | undefined,
  calibration: BlockCalibration | undefined,
  linkOf: LinkOf | undefined,
): Evidence[] {
  const candidates = distinct(passages.flatMap(candidatesOf)).slice(0, COMPARED);
  const specifics = about ? specificsOf(about.question) : [];
  const shared = new Set(candidates.map(({ read: { passage } }) => passage));
  const missing = new Map(
    Array.from(shared, (passage) => [passage, missingSpecifics(specifics, [passage])]),
  );
  const scored = candidates.map((candidate): Evidence => {
    const own = missing.get(candidate.read.passage)!;
    const signals = about && signalsOf(candidate, candidates, own, about);
    const score =
      calibration && signals ? blockProbability(calibration, signals) : candidate.attention;
    return toEvidence(candidate, score, signals, linkOf);
  });
  return scored.sort((a, b) => b.score - a.score).slice(0, SHOWN);
}

function candidatesOf(read: WeightedPassage): Candidate[] {
  const { passage, tokens } = read;
  const weightOf = weightsIn(passage.text, tokens);
  const isRead = ({ body, end }: ShownBlock): boolean =>
    tokens.some(({ start }) => start >= body && start < end);
  return shownBlocks(passage)
    .filter(isRead)
    .map((block) => ({
      ...{ read, block },
      attention: weightOf({ start: block.body, end: block.end }),
      excerpt: excerptOf(passage.text, block, weightOf),
    }));
}

/** Gives the sum of the weights of the tokens that begin in a span. */
function weightsIn(text: string, tokens: readonly WeightedToken[]): (span: Span) => number {
  const sums = new Float64Array(text.length + 1);
  for (const { start, weight } of tokens) sums[start + 1]! += weight;
  for (let i = 1; i < sums.length; i++) sums[i]! += sums[i - 1]!;
  return ({ start, end }) => sums[end]! - sums[start]!;
}

/** Those with the most attention first, without copies. */
function distinct(candidates: readonly Candidate[]): Candidate[] {
  const texts = new Set<string>();
  return candidates
    .toSorted((a, b) => b.attention - a.attention)
    .filter(({ excerpt: { text } }) => !texts.has(text) && texts.add(text));
}

function signalsOf(
  { read: { passage }, attention, excerpt: { text } }: Candidate,
  all: readonly Candidate[],
  missing: readonly Specific[],
  { question, emptiness, similarity, lead: similarityLead, known }: QuestionSignals,
): BlockSignals {
  const others = all.filter(({ excerpt }) => excerpt.text !== text);
  const next = Math.max(LEAST_ATTENTION, ...others.map((other) => other.attention));
  const own = Math.log(Math.max(LEAST_ATTENTION, attention));
  return {
    attention: own,
    lead: own - Math.log(next),
    words: Math.log(1 + countWords(text)),
    unmatched: unmatchedShare(question, [{ title: passage.title, text }]),
    ...missingSignals(missing, known),
    ...{ emptiness, similarity, similarityLead },
  };
}

function toEvidence(
  { read: { passage, span }, block: { kind }, excerpt }: Candidate,
  score: number,
  signals: BlockSignals | undefined,
  linkOf: LinkOf | undefined,
): Evidence {
  const { text, offset } = excerpt;
  const { start, end } = excerpt.span;
  const own =
    span && span.start >= start && span.end <= end
      ? { span: { start: offset + span.start - start, end: offset + span.end - start } }
      : {};
  return {
    ...placeOfPassage(passage, linkOf),
    ...{ text, start, end, kind, score },
    ...own,
    ...(signals && { signals }),
  };
}
