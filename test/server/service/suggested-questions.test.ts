/** Questions that are made of passages. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  answeredQuestions,
  candidateQuestions,
} from "../../../src/server/service/suggested-questions.ts";

const passage = (text: string, i = 0, title = "") => ({ id: `${i}`, title, text });
const questions = (text: string, title?: string): string[] =>
  candidateQuestions([passage(text, 0, title)]).map(({ question }) => question);

test("a question of a sentence, a table and a heading", () => {
  for (const [text, question] of [
    ["Backups are kept for 35 days in Frankfurt.", "How long are backups kept?"],
    ["The dam of Aswan was completed in 1970.", "When was the dam of Aswan completed?"],
    ["The office in Bremen opened in 2016 and is large.", "When did the office in Bremen open?"],
    ["In 1781 James Watt patented a steam engine that turned.", "Who patented a steam engine?"],
    ["Everyone has 30 days of holidays.", "How many days of holidays does everyone have?"],
    ["To restore the database, stop the service.", "How do I restore the database?"],
    ["The Rhine is a river in Europe.", "What is the Rhine?"],
    ["Item | Price\n--- | ---\nTea | 2 euros", "What is the price of Tea?"],
  ] as const)
    assert.equal(questions(text), [question]);
  assert.equal(questions("Ten days.", "FAQ > How long may I wait?"), ["How long may I wait?"]);
});

test("what points elsewhere, or is no sentence, makes none", () => {
  for (const text of [
    "It is a river.",
    "This was completed in 1970.",
    "To the east of it, there are hills.",
    "x = 1; y is a number",
    "",
    "a".repeat(10_000),
  ])
    assert.equal(questions(text), []);
});

test("documents take turns, and a question is there once", () => {
  const many = Array.from({ length: 30 }, (_, i) => ({
    ...passage(`The lake ${"abcdefghijklmnopqrstuvwxyzABCD"[i]} is a lake.`, i),
    document: "lakes",
  }));
  const other = { ...passage("The Rhine is a river.", 99), document: "rivers" };
  const found = candidateQuestions([...many, other, other]);
  assert.is(found.length, 12);
  assert.equal(
    found.slice(0, 2).map(({ id }) => id),
    ["0", "99"],
  );
});

test("only questions whose first block is of their passage are kept, the surest first", () => {
  const candidates = ["a", "b", "c", "d", "e", "f"].map((id) => ({ question: `${id}?`, id }));
  const reply = (id: string, score: number) => ({ evidence: [{ id, score }] });
  const replies = [
    ...[reply("a", 0.6), reply("other", 0.9), { evidence: [] }, reply("d", 0.9)],
    ...[reply("e", 0.7), reply("f", 0.5)],
  ];
  assert.equal(answeredQuestions(candidates, replies as never), ["d?", "e?", "a?"]);
});

test.run();
