/**
 * Questions that passages of an index answer, to begin with: made of their sentences and tables by
 * rules of English, and kept if the model then finds the block that they are made of.
 */

import type { Hit, Reply } from "../../reatt.ts";
import type { Passage } from "../../text/passage.ts";
import { sentences } from "../../text/sentences.ts";

/** A question, and the passage that it is made of. */
export interface Candidate {
  readonly question: string;
  readonly id: string;
}

/** Questions that are shown. */
const SHOWN = 3;
/** Questions that are tried: 12 take about two seconds of processor time. */
const TRIED = 12;
/** Texts are looked at as far, in characters. */
const MAX_TEXT = 4_000;

/** What is spoken of: one to six words, of which the first is none of these. */
const ELSEWHERE =
  "It|This|That|These|Those|They|There|Here|He|She|We|You|I|What|Which|Who|Where|When|How|If|As|" +
  "In|On|At|For|But|And|Or|Each|Both|Such|Some|All|None|One";
const THING = String.raw`(?<thing>(?!(?:${ELSEWHERE})\b)[A-Z][\w'-]*(?: [\w'-]+){0,5}?)`;
const DONE = String.raw`(?<done>(?!(?:an?|the)\b)\w+(?:ed|pt|lt|nt|en|wn|id|ut|ld|de))`;
const SPAN = "(?:years|months|weeks|days|hours|minutes)";
const DID =
  "(?:patent|invent|discover|design|found|develop|publish|paint|compos|direct)ed|built|wrote";

/** What happens once, in the past and in a question. */
const EVENTS: Readonly<Record<string, string>> = {
  opened: "open",
  closed: "close",
  began: "begin",
  started: "start",
  ended: "end",
  died: "die",
};

interface Rule {
  readonly pattern: RegExp;
  readonly question: (found: Readonly<Record<string, string>>) => string;
}

/** A rule for the beginning of a sentence; a `thing` is given as it stands inside of one. */
const rule = (pattern: string, question: Rule["question"]): Rule => ({
  pattern: new RegExp(`^${pattern}`),
  question,
});

/** Sentences that answer a question, the surest first. */
const RULES: readonly Rule[] = [
  rule(
    String.raw`${THING} (?<be>is|are|was|were) ${DONE} for \d[\d,.]* ${SPAN}\b`,
    ({ thing, be, done }) => `How long ${be} ${thing} ${done}?`,
  ),
  rule(
    "To (?<act>(?!(?:the|an?|this|that|these|its|our|their|each|some|what|date)\\b)[a-z][a-z]+(?: [\\w'-]+){1,6}), [a-z]",
    ({ act }) => `How do I ${act}?`,
  ),
  rule(
    String.raw`${THING} (?<be>was|were) ${DONE}[^.;]{0,60}? in \d{4}\b`,
    ({ thing, be, done }) => `When ${be} ${thing} ${done}?`,
  ),
  rule(
    String.raw`${THING} (?<did>${Object.keys(EVENTS).join("|")})[^.;]{0,60}? in \d{4}\b`,
    ({ thing, did }) => `When did ${thing} ${EVENTS[did!]}?`,
  ),
  rule(
    String.raw`(?:In \d{4},? )?[A-Z]\w+ [A-Z]\w+ (?<did>${DID}) (?<what>[^.,;]{3,60}?)(?=[.,;]| and | that | which |$)`,
    ({ did, what }) => `Who ${did} ${what}?`,
  ),
  rule(
    String.raw`${THING} (?<has>has|have|needs|need) \d[\d,.]* (?<unit>[a-z]{3,}(?: of [a-z]+)?)\b`,
    ({ thing, has, unit }) =>
      `How many ${unit} ${/s$/.test(has!) ? "does" : "do"} ${thing} ` +
      `${/^ha/.test(has!) ? "have" : "need"}?`,
  ),
  rule(`${THING} (?<be>is|are) (?:an?|the) [a-z]`, ({ thing, be }) => `What ${be} ${thing}?`),
];
/** Columns of a table that have a value of what the row is about. */
const VALUES =
  /^(?:price|cost|value|default|size|weight|limit|capital|population|amount|fee|unit|length|height|width|speed|salary|meaning|duration|phone|email|address|deadline)$/i;

/** Questions of passages: one of each document first, and of these the surest first. */
export function candidateQuestions(passages: readonly Passage[]): Candidate[] {
  const ranked = new Map<string, Candidate & { readonly rank: number }>();
  const counts = new Map<string, number>();
  for (const passage of passages) {
    const document = passage.document ?? passage.title;
    for (const { question, rank } of questionsOf(passage)) {
      const earlier = counts.get(document) ?? 0;
      counts.set(document, earlier + 1);
      const all = { question, id: passage.id, rank: earlier * RULES.length + rank };
      if (!ranked.has(question)) ranked.set(question, all);
    }
  }
  return [...ranked.values()].sort((a, b) => a.rank - b.rank).slice(0, TRIED);
}

/** Those whose first block is of the passage that the question is made of. */
export function answeredQuestions(
  candidates: readonly Candidate[],
  replies: readonly Reply<Hit>[],
): string[] {
  return candidates
    .map(({ question, id }, i) => {
      const [block] = replies[i]?.evidence ?? [];
      return { question, score: block?.id === id ? block.score : 0 };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, SHOWN)
    .map(({ question }) => question);
}

/** The questions of a passage, each with the rank of its rule. */
function questionsOf({ title, text }: Passage): { question: string; rank: number }[] {
  const shown = text.slice(0, MAX_TEXT);
  const heading = title.split(" > ").at(-1)!;
  const asked = /^[A-Z][^?]{10,80}\?$/.test(heading) ? heading : tableQuestion(shown);
  const found = asked === undefined ? [] : [{ question: asked, rank: 0 }];
  for (const { start, end } of sentences(shown)) {
    const sentence = shown.slice(start, end).replace(/\s+/g, " ").trim();
    for (const [rank, { pattern, question }] of RULES.entries()) {
      const groups = pattern.exec(sentence)?.groups;
      if (!groups) continue;
      const thing = groups.thing && inside(groups.thing, text);
      found.push({ question: question({ ...groups, ...(thing && { thing }) }), rank });
      break;
    }
  }
  return found;
}

/** "What is the price of the shaft?", of the first table with such a column. */
function tableQuestion(text: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const rule = lines.findIndex((line) => /^\|?(?: *:?-+:? *\|)+/.test(line));
  if (rule < 1 || rule + 1 >= lines.length) return undefined;
  const cells = (line: string) =>
    line
      .replace(/^\||\|$/g, "")
      .split("|")
      .map((cell) => cell.trim());
  const [head, row] = [cells(lines[rule - 1]!), cells(lines[rule + 1]!)];
  const column = head.findIndex((name, i) => i > 0 && VALUES.test(name) && row[i]);
  const name = row[0] ?? "";
  if (column === -1 || !/^[\p{L}\d][^.|]{1,40}$/u.test(name)) return undefined;
  return `What is the ${head[column]!.toLowerCase()} of ${name}?`;
}

/** As it stands inside of a sentence of the text: an article, and a word that is no name. */
function inside(thing: string, text: string): string {
  const [first] = /^[\w'-]+/.exec(thing)!;
  const lower = first.toLowerCase();
  const isPlural = thing === first && first.endsWith("s"); // "Backups", seldom "Texas"
  const isWord =
    isPlural || /^(?:the|an?|your|our|every\w*)$/.test(lower) || wordsOf(text).has(lower);
  return isWord ? lower + thing.slice(first.length) : thing;
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.match(/[\w'-]+/g));
