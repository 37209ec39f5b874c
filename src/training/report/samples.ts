/** Sample questions with the retrieved passages and the answers before and after training. */

import { containsAnswer, exactMatch } from "../../evaluation/answers.ts";
import { findAnswerSpan } from "../../text/answer-span.ts";
import { type Html, html } from "./format.ts";

/** The answer of a model and its evidence. */
export interface SampleReply {
  /** The text of the answer. */
  readonly answer: string;
  /** Best first. */
  readonly passages: readonly {
    readonly id?: string | undefined;
    readonly title: string;
    readonly text: string;
    readonly score: number;
  }[];
}

export interface ReportSample {
  /** The question of the sample. */
  readonly question: string;
  /** Accepted answers. Empty if none are known: then the first passage counts. */
  readonly gold: readonly string[];
  /** Ids of relevant passages. Default: those that contain an accepted answer. */
  readonly relevant?: readonly string[] | undefined;
  /** The answer of the model before the run. */
  readonly before?: SampleReply | undefined;
  /** The answer of the model after the run. */
  readonly after?: SampleReply | undefined;
}

const SHOWN_PASSAGES = 2; // the others are in a folded element
/**
 * Characters of an excerpt besides the answer, about three lines, and of these at most before the
 * answer.
 */
const EXCERPT_LENGTH = 220;
const LENGTH_BEFORE = 100;

const OUTCOMES = [
  "Learned",
  "Lost",
  "Right before and after",
  "Still wrong",
  "Right",
  "Wrong",
  "Not judged",
] as const;

/** One card a sample. Samples whose answer training changed come first. */
export function sampleCards(samples: readonly ReportSample[]): Html {
  const sorted = OUTCOMES.flatMap((outcome) =>
    samples.filter((sample) => outcomeOf(sample) === outcome),
  );
  return html`${sorted.map(
    (sample) => html`<article><h3>${sample.question}</h3>
<p class="quiet">${outcomeOf(sample)}. ${judgedBy(sample)}</p>
<div class="sides">${side("Before", sample.before, sample)}${side("After", sample.after, sample)}</div></article>`,
  )}`;
}

export function outcomeOf(sample: ReportSample): (typeof OUTCOMES)[number] {
  if (!isKnown(sample)) return "Not judged";
  const [was, is] = [sample.before, sample.after].map((reply) => reply && isRight(reply, sample));
  if (was === undefined || is === undefined) return (was ?? is) ? "Right" : "Wrong";
  if (is) return was ? "Right before and after" : "Learned";
  return was ? "Lost" : "Still wrong";
}

const isKnown = ({ gold, relevant = [] }: ReportSample): boolean =>
  gold.length > 0 || relevant.length > 0;

function judgedBy(sample: ReportSample): string {
  if (sample.gold.length > 0) return `Accepted: ${sample.gold.join(" | ")}`;
  const unknown = "No answer is known";
  return isKnown(sample) ? `${unknown}: the first passage counts.` : `${unknown}.`;
}

function isRight({ answer, passages }: SampleReply, sample: ReportSample): boolean {
  if (sample.gold.length > 0) return exactMatch(answer, sample.gold);
  return passages[0] !== undefined && isRelevant(passages[0], sample);
}

type ReplyPassage = SampleReply["passages"][number];

const isRelevant = ({ id, text }: ReplyPassage, { gold, relevant }: ReportSample): boolean =>
  relevant && id !== undefined
    ? relevant.includes(id)
    : gold.length > 0 && containsAnswer(text, gold);

function side(
  title: string,
  reply: SampleReply | undefined,
  sample: ReportSample,
): Html | undefined {
  if (!reply) return undefined;
  const items = reply.passages.map((passage) => passageItem(passage, sample));
  const hidden = items.length - SHOWN_PASSAGES;
  const answer = reply.answer || "no answer";
  return html`<section><p><span class="quiet">${title}:</span>
${sample.gold.length > 0 ? markedAnswer(answer, isRight(reply, sample)) : html`<b>${answer}</b>`}</p>
<ol>${items.slice(0, SHOWN_PASSAGES)}</ol>
${
  hidden > 0
    ? html`<details><summary>${hidden} more</summary><ol start="${SHOWN_PASSAGES + 1}">${items.slice(SHOWN_PASSAGES)}</ol></details>`
    : undefined
}</section>`;
}

const markedAnswer = (answer: string, right: boolean): Html =>
  html`<b class="${right ? "right" : "wrong"}">${answer} ${right ? "✓" : "✗"}</b>`;

function passageItem(passage: ReplyPassage, sample: ReportSample): Html {
  const { title, text, score } = passage;
  const { gold } = sample;
  const found = isRelevant(passage, sample) ? html` <b class="right">✓</b>` : undefined;
  return html`<li><span class="title">${title || "untitled"}</span>${found}
<span class="quiet">${score.toFixed(2)}</span><br>${excerpt(text, gold)}</li>`;
}

/**
 * An excerpt around the first accepted answer in the text, or else its beginning. Cuts between
 * words.
 */
function excerpt(text: string, gold: readonly string[]): Html {
  const { start, end } = gold.flatMap((answer) => findAnswerSpan(answer, text) ?? [])[0] ?? {
    start: 0,
    end: 0,
  };
  const before = text.slice(0, start);
  const after = text.slice(end);
  const left =
    before.length <= LENGTH_BEFORE
      ? before
      : `…${before.slice(-LENGTH_BEFORE).replace(/^\S+/, "")}`;
  const room = EXCERPT_LENGTH - left.length;
  const right = after.length <= room ? after : `${after.slice(0, room).replace(/\S+$/, "")}…`;
  return html`${left}${end > 0 ? html`<mark>${text.slice(start, end)}</mark>` : undefined}${right}`;
}
