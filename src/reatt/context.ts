/** What a language model reads to answer a question: the best blocks, numbered. */

import type { Reply } from "../decoder/answers.ts";
import type { Evidence } from "../decoder/evidence.ts";
import { type PlaceOfPassage, pageOrLines, placeOfPassage } from "../decoder/source.ts";
import type { Resolved } from "../options/option.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { answers, onlyReply } from "./answering.ts";
import type { LoadedModel } from "./loaded-model.ts";
import type { CONTEXT } from "./options.ts";
import type { Hit } from "./retrieving.ts";

/** A numbered text of the context. */
export interface ContextSource extends PlaceOfPassage {
  /** What the language model cites: `[1]` is number 1. */
  readonly number: number;
  /** The blocks of a passage that answer, or all of the passage. */
  readonly text: string;
}

export interface Context {
  /** The texts, each below its number, title and place. Empty if nothing was found. */
  readonly text: string;
  /** Asks a language model to answer from `text` alone, and to cite the numbers. */
  readonly prompt: string;
  /** What the numbers stand for, in the order of `text`. */
  readonly sources: readonly ContextSource[];
  /** The reply that the blocks come from. */
  readonly reply: Reply<Hit>;
}

/** A passage, or blocks of it, that could be shown. */
interface Part {
  readonly passage: Hit;
  readonly text: string;
}

export async function contextOf(
  model: LoadedModel,
  question: string,
  index: TokenIndex,
  { maxTokens, ...options }: Resolved<typeof CONTEXT>,
): Promise<Context> {
  const reply = await onlyReply(answers(model, [question], index, options));
  const { linkOf } = index;
  const place = (parts: readonly Part[]) =>
    parts.map(
      ({ passage, text }, i): ContextSource => ({
        number: i + 1,
        ...placeOfPassage(passage, linkOf),
        text,
      }),
    );
  let chosen: readonly Part[] = [];
  for (const part of candidates(reply)) {
    const others = chosen.filter(({ passage }) => !isSame(passage, part.passage));
    const next = inOrder([...others, part]);
    if (model.tokenizer.encode(written(place(next))).length <= maxTokens) chosen = next;
  }
  const sources = place(chosen);
  const text = written(sources);
  return { text, prompt: promptOf(question, text), sources, reply };
}

/** First the blocks of evidence, then their whole passages, then the others, best first. */
function candidates({ evidence, passages }: Reply<Hit>): Part[] {
  const owners = new Set(
    evidence.flatMap((block) => passages.filter((passage) => isSame(passage, block))),
  );
  const blocks = [...owners].map((passage) => ({
    passage,
    text: joined(evidence.filter((block) => isSame(block, passage))),
  }));
  const others = passages.filter((passage) => !owners.has(passage));
  const whole = [...owners, ...others].map((passage) => ({ passage, text: passage.text }));
  return [...blocks, ...whole];
}

type Named = Pick<Hit, "id" | "collection">;

/** Passages of several indexes can have one id. */
const isSame = (a: Named, b: Named): boolean => a.id === b.id && a.collection === b.collection;

const joined = (blocks: readonly Evidence[]): string =>
  blocks
    .toSorted((a, b) => a.start - b.start)
    .map(({ text }) => text)
    .join("\n\n");

/** Passages of one document follow each other, in its order. */
function inOrder(parts: readonly Part[]): Part[] {
  const documentOf = ({ passage: { document, id, collection = "" } }: Part): string =>
    `${collection}\0${document ?? id}`;
  const documents = [...new Set(parts.map(documentOf))];
  return parts.toSorted(
    (a, b) =>
      documents.indexOf(documentOf(a)) - documents.indexOf(documentOf(b)) ||
      a.passage.id.localeCompare(b.passage.id, "en", { numeric: true }),
  );
}

const written = (sources: readonly ContextSource[]): string =>
  sources
    .map((source) => {
      const { number, title, document, text } = source;
      const facts = [title || document, pageOrLines(source)].filter((one) => one).join(", ");
      return `[${number}] ${facts}\n${text}`;
    })
    .join("\n\n");

const promptOf = (question: string, text: string): string =>
  text === ""
    ? `No document answers this question. Say so, and do not answer it from memory.\n\n` +
      `Question: ${question}`
    : `Answer the question from the numbered texts alone. After each statement, cite the texts ` +
      `that it comes from, as [1]. If they do not answer the question, say so, and do not answer ` +
      `from memory.\n\n${text}\n\nQuestion: ${question}`;
