/**
 * Writes a page of a hundred answers, spread evenly over all questions, each with the accepted
 * answers and the passage that the answer comes from.
 *
 *     npx tsx recipes/reatt-mini/write-sample-page.ts --replies FILE.jsonl --out FILE.md
 *
 * FILE.jsonl is what `measure.ts --replies` keeps.
 */

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { exactMatch, f1 } from "../../src/evaluation/answers.ts";
import { replaceFile } from "../../src/io/replace-file.ts";
import type { Answered } from "./measure.ts";

const { values } = parseArgs({ options: { replies: { type: "string" }, out: { type: "string" } } });
const QUESTIONS = 100;
/** Characters of a passage on either side of the answer. */
const AROUND = 120;

function verdict({ answer, answers }: Answered): string {
  if (exactMatch(answer[3], answers)) return "right";
  const overlap = f1(answer[3], answers);
  return overlap > 0 ? `partly (F1 ${overlap.toFixed(2)})` : "wrong";
}

/** The passage that the answer quotes, with the answer in it; else the beginning of the first. */
function evidence({ passages, passageId }: Answered): string {
  const { id, title, text, span } = passages.find((passage) => passage.span) ?? passages[0]!;
  const { start, end } = span ?? { start: 0, end: 0 };
  const [before, after] = [
    text.slice(Math.max(0, start - AROUND), start),
    text.slice(end, end + AROUND),
  ];
  const marked = span ? `**${text.slice(start, end)}**` : "";
  const asked = id === passageId ? "the paragraph asked about" : "another paragraph";
  return `*${title}*, ${asked}: …${before}${marked}${after}…`;
}

const entry = (reply: Answered, i: number): string =>
  [
    `**${i + 1}. ${reply.question}**`,
    "",
    `- ${verdict(reply)}: “${reply.answer[3]}”, confidence ${reply.confidence.toFixed(2)}; accepted: ${[...new Set(reply.answers)].join(" / ")}`,
    `- ${evidence(reply).replace(/\s+/g, " ")}`,
    "",
  ].join("\n");

function page(replies: readonly Answered[]): string {
  const chosen = Array.from(
    { length: QUESTIONS },
    (_, i) => replies[Math.floor((i * replies.length) / QUESTIONS)]!,
  );
  const right = chosen.filter((reply) => verdict(reply) === "right").length;
  const partly = chosen.filter((reply) => verdict(reply).startsWith("partly")).length;
  return [
    "# A hundred questions",
    "",
    `Of SQuAD's dev articles, spread evenly, good and bad: ${right} answers are right, ${partly} share words with a right one. The model read the`,
    "best three passages of hybrid search among 2,067, as `reatt answer` does.",
    "",
    ...chosen.map(entry),
  ].join("\n");
}

if (!values.replies || !values.out) throw new Error("give --replies FILE.jsonl and --out FILE.md");
const lines = (await readFile(values.replies, "utf8")).trim().split("\n");
const text = page(lines.map((line): Answered => JSON.parse(line)));
await replaceFile(values.out, (file) => file.writeFile(text));
