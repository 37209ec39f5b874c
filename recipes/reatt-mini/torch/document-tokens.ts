/**
 * Writes questions about documents as token ids, for `train.py --documents`:
 *
 *     npx tsx recipes/reatt-mini/torch/document-tokens.ts [--model DIR] [--out DIR] FOLDER...
 *
 * FOLDER is a set with texts, which `benchmarks/document-questions/unpack.py` writes. Its documents
 * are split as an index does. Four kinds of lines, each with `similar`, the best passages of BM25
 * without an evidence, those of the same document first:
 *
 * - with `places`, as in tokens.ts: where the answer stands in an evidence
 * - with `points`, the first and last token of an evidence, where no short quotation is the answer
 * - with neither, of kind `none`: the best passage of BM25 does not answer, or for a near miss that
 *   of the question before it, from which it was written
 * - with neither: a name or number of the question is swapped for one of another passage
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hasEvidence, type Question } from "../../../benchmarks/document-questions/judge.ts";
import { readDocuments } from "../../../src/documents/read-documents.ts";
import { createRandom } from "../../../src/math/random.ts";
import { type Bm25, buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../../../src/text/passage.ts";
import type { Span } from "../../../src/text/span.ts";
import {
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../../src/text/tokens/prompts.ts";
import { tokenPlaces } from "../../../src/text/tokens/token-places.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const { values, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    out: { type: "string", default: "runs/reatt-mini/tokens" },
    seed: { type: "string", default: "71" },
  },
});
const PASSAGE_TOKENS = 352;
const ANSWER_TOKENS = 24; // LABELS of train.py
const SIMILAR = 6;
const OF_THE_SAME_DOCUMENT = 4;
const BEST = 40; // passages of BM25 among which similar ones are looked for
const SWAPPED = 0.8; // of the questions that have a word to swap

const tokenizer = await loadTokenizer(join(values.model, "spiece.model"));

/** The passages of a genre of a set. */
interface Genre {
  readonly passages: readonly Passage[];
  readonly letters: readonly Letters[];
  readonly bm25: Bm25;
  /** The position of the first one among all passages. */
  readonly first: number;
}

/** A text without white space and marks, and where each of its letters and digits was. */
interface Letters {
  readonly text: string;
  readonly origin: readonly number[];
}

interface AskedQuestion extends Question {
  readonly file: string;
  /** Why a question has no answer: "absent record", "near miss" or "other subject". */
  readonly none?: string;
}

interface Line {
  readonly ids: readonly number[];
  /** The position of the passage that is read. */
  readonly passage: number;
  readonly places: readonly (readonly [number, number][])[];
  readonly points?: readonly [number, number] | undefined;
  readonly similar: readonly number[];
}

interface Asked {
  readonly question: AskedQuestion;
  readonly line?: Line;
}

function lettersOf(text: string): Letters {
  const origin: number[] = [];
  let letters = "";
  let at = 0;
  for (const character of text) {
    for (const letter of character.normalize("NFKC").toLowerCase())
      if (/[\p{L}\p{N}]/u.test(letter)) {
        letters += letter;
        for (let i = 0; i < letter.length; i++) origin.push(at);
      }
    at += character.length;
  }
  return { text: letters, origin };
}

/** Where a part stands in a text, white space and marks aside, with the marks around it. */
function findPart(letters: Letters, length: number, part: string): Span | undefined {
  const wanted = lettersOf(part).text;
  const found = wanted === "" ? -1 : letters.text.indexOf(wanted);
  if (found < 0) return undefined;
  const [before, after] = [letters.origin[found - 1], letters.origin[found + wanted.length]];
  return { start: before === undefined ? 0 : before + 1, end: after ?? length };
}

const isLetter = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? "");

/** The places of an answer between two characters of a text: as it is, or other marks in it. */
function answerSpans(text: string, { start, end }: Span, answer: string): Span[] {
  const spans: Span[] = [];
  const part = text.slice(start, end);
  for (let at = part.indexOf(answer); at >= 0; at = part.indexOf(answer, at + 1)) {
    const after = at + answer.length;
    const cuts =
      (isLetter(part[at - 1]) && isLetter(answer[0])) ||
      (isLetter(part[after]) && isLetter(answer.at(-1)));
    if (!cuts) spans.push({ start: start + at, end: start + after });
  }
  if (spans.length > 0) return spans;
  const letters = lettersOf(part);
  const wanted = lettersOf(answer).text;
  const found = wanted === "" ? -1 : letters.text.indexOf(wanted);
  if (found < 0) return [];
  const last = letters.origin[found + wanted.length - 1]!;
  return [{ start: start + letters.origin[found]!, end: start + last + 1 }];
}

const textOf = ({ title, text }: Passage): string => `${title}\n${text}`;

const isOf = ({ metadata }: Passage, { file, genre }: AskedQuestion): boolean =>
  `documents/${genre}/${metadata?._source}` === file;

/** The first passage with an evidence as it is written, in the file that was asked about first. */
function findEvidence(genre: Genre, question: AskedQuestion) {
  const own = genre.passages.map((_, i) => i).filter((i) => isOf(genre.passages[i]!, question));
  for (const evidence of question.evidence)
    for (const i of [...own, ...genre.passages.keys()]) {
      const span = findPart(genre.letters[i]!, genre.passages[i]!.text.length, evidence);
      if (span) return { i, span };
    }
  return undefined;
}

/** The best passages of BM25 without an evidence, by their positions in the genre. */
function similarPassages({ passages, bm25 }: Genre, question: AskedQuestion): number[] {
  const best = Array.from(bm25.rank(question.question, BEST).ordinals).filter(
    (i) => !question.evidence.some((evidence) => hasEvidence(textOf(passages[i]!), evidence)),
  );
  const own = best.filter((i) => isOf(passages[i]!, question)).slice(0, OF_THE_SAME_DOCUMENT);
  return [...new Set([...own, ...best])].slice(0, SIMILAR);
}

const questionIds = (question: string): number[] =>
  readingQuestionIds(retrievalQuestionIds(tokenizer, question));

/** First and last token of characters of the text of a passage. */
function tokensOf(passage: Passage): (span: Span) => [number, number] | undefined {
  const ids = passageIds(tokenizer, passage, PASSAGE_TOKENS).slice(0, -1);
  const places = tokenPlaces(tokenizer, passage, ids);
  return ({ start, end }) => {
    const touches = (place: (typeof places)[number]) =>
      place?.field === "text" && place.span.start < end && place.span.end > start;
    const [first, last] = [places.findIndex(touches), places.findLastIndex(touches)];
    return first < 0 || places[last]!.span.end < end ? undefined : [first, last];
  };
}

/** The line of a question with an answer; none if no passage has its evidence whole. */
function answeredLine(genre: Genre, question: AskedQuestion): Line | undefined {
  const found = findEvidence(genre, question);
  if (!found) return undefined;
  const passage = genre.passages[found.i]!;
  const { text } = passage;
  const tokens = tokensOf(passage);
  const isShort = ([first, last]: readonly [number, number]): boolean =>
    last - first < ANSWER_TOKENS;
  const places = question.answers
    .map((answer) => answerSpans(text, found.span, answer).flatMap((span) => [tokens(span) ?? []]))
    .map((all) => all.filter((place): place is [number, number] => place.length === 2))
    .filter((all) => all.length > 0 && all.every(isShort));
  const isSpan = places.length > 0 && question.kind !== "yesno";
  const points = isSpan ? undefined : tokens(trimmed(text, found.span));
  if (!isSpan && !points) return undefined;
  return {
    ids: questionIds(question.question),
    passage: genre.first + found.i,
    places: isSpan ? places : [],
    points,
    similar: similarPassages(genre, question).map((i) => genre.first + i),
  };
}

function trimmed(text: string, { start, end }: Span): Span {
  const part = text.slice(start, end);
  return { start: start + part.search(/\S/), end: start + part.trimEnd().length };
}

/** The line of a question without an answer in its genre. */
function noneLine(genre: Genre, question: AskedQuestion, near?: Line): Line | undefined {
  const found = similarPassages(genre, question).map((i) => genre.first + i);
  const [best, ...similar] = near
    ? [near.passage, ...found.filter((i) => i !== near.passage)]
    : found;
  if (best === undefined) return undefined;
  return { ids: questionIds(question.question), passage: best, places: [], similar };
}

/** Words with a digit, codes, and capitalised words within a sentence. */
const NAMES =
  /(?<=[\p{Ll}\p{N},(] )(?:\p{Lu}[\p{L}\p{N}]+|\S*\p{N}[\p{L}\p{N}]*|[\p{L}\p{N}]+_\w+)/gu;

/** Digits keep their number, other letters become one of their kind. */
const shapeOf = (name: string): string =>
  name
    .replace(/\p{N}/gu, "9")
    .replace(/\p{Lu}+/gu, "A")
    .replace(/\p{Ll}+/gu, "a");

/** The line of a question with a name of its passage swapped for one that no read passage has. */
function swappedLine(genre: Genre, question: AskedQuestion, line: Line): Line | undefined {
  const random = createRandom(Number(values.seed), "swapped", question.id, question.question);
  const read = [line.passage, ...line.similar]
    .map((i) => textOf(genre.passages[i - genre.first]!).toLowerCase())
    .join("\n");
  const right = textOf(genre.passages[line.passage - genre.first]!).toLowerCase();
  const names = [...question.question.matchAll(NAMES)].filter(
    ([name]) => name.length > 1 && right.includes(name.toLowerCase()),
  );
  if (names.length === 0 || random.next() >= SWAPPED) return undefined;
  const { 0: name, index } = names[random.integer(names.length)]!;
  const others = [...namesOf(genre, question)].filter(
    (other) => shapeOf(other) === shapeOf(name) && !read.includes(other.toLowerCase()),
  );
  if (others.length === 0) return undefined;
  const other = others[random.integer(others.length)]!;
  const swapped = question.question.slice(0, index) + other;
  const text = swapped + question.question.slice(index + name.length);
  return { ids: questionIds(text), passage: line.passage, places: [], similar: line.similar };
}

/** The names in the document of a question. */
function namesOf({ passages }: Genre, question: AskedQuestion): Set<string> {
  const own = passages.filter((passage) => isOf(passage, question));
  return new Set(own.flatMap(({ text }) => text.match(NAMES) ?? []));
}

async function readGenre(folder: string, name: string, first: number): Promise<Genre> {
  const passages: Passage[] = [];
  const documents = join(folder, "documents", name);
  for await (const passage of readDocuments(documents, { tokenizer })) passages.push(passage);
  const letters = passages.map(({ text }) => lettersOf(text));
  return { passages, letters, bm25: await buildBm25(passages), first };
}

const rows: number[][] = [];
const lines: Line[] = [];
const counts = { answered: 0, pointed: 0, none: 0, swapped: 0, lost: 0 };

/** Adds the lines of a question. `before` is the one before it, with its line if it has one. */
function addLines(genre: Genre, question: AskedQuestion, before?: Asked): Asked {
  if (question.kind === "none") {
    const isNear = question.none === "near miss" && before?.question.file === question.file;
    const line = noneLine(genre, question, isNear ? before.line : undefined);
    if (line) lines.push(line);
    counts.none++;
    return { question };
  }
  const line = answeredLine(genre, question);
  if (!line) {
    counts.lost++;
    return { question };
  }
  lines.push(line);
  counts[line.points ? "pointed" : "answered"]++;
  const swapped = swappedLine(genre, question, line);
  if (swapped) {
    lines.push(swapped);
    counts.swapped++;
  }
  return { question, line };
}

for (const folder of folders) {
  const file = await readFile(join(folder, "questions.jsonl"), "utf8");
  const questions = file
    .trimEnd()
    .split("\n")
    .map((line): AskedQuestion => JSON.parse(line));
  for (const name of new Set(questions.map(({ genre }) => genre))) {
    const genre = await readGenre(folder, name, rows.length);
    for (const passage of genre.passages) rows.push(passageIds(tokenizer, passage, PASSAGE_TOKENS));
    let before: Asked | undefined;
    for (const question of questions)
      if (question.genre === name) before = addLines(genre, question, before);
  }
}
const written = (all: readonly unknown[]): string =>
  all.map((one) => `${JSON.stringify(one)}\n`).join("");
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, "documents.passages.jsonl"), written(rows));
await writeFile(join(values.out, "documents.questions.jsonl"), written(lines));
console.log(`${rows.length} passages, ${lines.length} questions: ${JSON.stringify(counts)}`);
