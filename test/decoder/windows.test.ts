/** Which windows of long passages are read, and how many tokens are not. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { chooseWindows } from "../../src/decoder/windows.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";

const tokenizer = await loadTokenizer("models/reatt-mini/spiece.model");
const SENTENCES = Array.from({ length: 80 }, (_, i) => `Sentence ${i} is about a river and a sea.`);
const LONG = { id: "rivers", title: "Rivers", text: SENTENCES.join(" ") };
const SHORT = { id: "lion", title: "Lion", text: "The lion lives in Africa." };

/** Chooses with the scores of windows by their position. */
const choose = (scoreOf: (window: number) => number) =>
  chooseWindows(tokenizer, "?", [{ passage: LONG }, { passage: SHORT }], 64, async (windows) =>
    windows.map((_, i) => scoreOf(i)),
  );

test("ten windows are read, and one of each passage among them", async () => {
  const { windows } = await choose((window) => -window); // the short passage is last
  assert.is(windows.length, 10);
  assert.equal(
    windows.map(({ owner }) => owner),
    [...Array(9).fill(0), 1],
  );
});

test("a sentence of two windows counts as read if one of them is", async () => {
  for (const scoreOf of [(i: number) => -i, (i: number) => i, (i: number) => i % 2]) {
    const { windows, unread } = await choose(scoreOf);
    const read = windows.map(({ passage }) => passage.text).join(" ");
    const missed = SENTENCES.filter((sentence) => !read.includes(sentence));
    assert.ok(missed.length > 0);
    const tokens = missed.map((sentence) => tokenizer.encode(sentence).length);
    assert.equal(unread, [tokens.reduce((sum, own) => sum + own, 0), 0]);
  }
});

test("a text behind a long title is read; the end of the title is not, and counts", async () => {
  const passage = { id: "long", title: "A title of many words. ".repeat(30), text: SHORT.text };
  const { windows, unread } = await chooseWindows(
    tokenizer,
    "?",
    [{ passage }],
    64,
    async () => [],
  );
  const [{ title = "", text }] = windows.map((window) => window.passage) as [typeof passage];
  assert.is(text, SHORT.text);
  assert.ok(passage.title.startsWith(title));
  assert.equal(unread, [tokenizer.encode(passage.title.slice(title.length)).length]);
  assert.ok(unread[0]! > 0);
});

test("the model compares at most 40 windows, those with the words of the question", async () => {
  const text = Array.from({ length: 1_000 }, (_, i) => `Sentence ${i} is about a river.`).join(" ");
  const passages = [{ passage: { ...LONG, text } }, { passage: SHORT }];
  const compared: string[] = [];
  const { windows } = await chooseWindows(
    tokenizer,
    "Sentence 777?",
    passages,
    64,
    async (some) => {
      compared.push(...some.map((passage) => passage.text));
      return some.map((passage) => (passage.text.includes("777") ? 1 : 0));
    },
  );
  assert.is(compared.length, 40);
  assert.ok(windows.some(({ passage }) => passage.text.includes("Sentence 777 ")));
  assert.ok(windows.some(({ owner }) => owner === 1));
});

test.run();
