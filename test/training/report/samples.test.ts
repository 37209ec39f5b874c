import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type ReportSample,
  type SampleReply,
  sampleCards,
} from "../../../src/training/report/samples.ts";

const reply = (answer: string, ...texts: string[]): SampleReply => ({
  answer,
  passages: texts.map((text, i) => ({ title: `Title ${i}`, text, score: 3 - i / 4 })),
});
const sample = (question: string, before?: string, after?: string): ReportSample => ({
  question,
  gold: ["Paris", "City of Light"],
  before: before === undefined ? undefined : reply(before),
  after: after === undefined ? undefined : reply(after),
});
const headings = (samples: readonly ReportSample[]): string[] =>
  Array.from(
    sampleCards(samples).markup.matchAll(/<h3>(.*?)<\/h3>\s*<p class="quiet">(.*?)\. /g),
    ([, q, outcome]) => `${q}: ${outcome}`,
  );

test("cards are sorted by what training changed", () => {
  const samples = [
    sample("1", "Rome", "London"),
    sample("2", "Paris", "the city of light"),
    sample("3", "Paris", ""),
    sample("4", "Rome", "PARIS!"),
    sample("5", "Rome"),
    sample("6", undefined, "Paris"),
  ];
  assert.equal(headings(samples), [
    "4: Learned",
    "3: Lost",
    "2: Right before and after",
    "1: Still wrong",
    "6: Right",
    "5: Wrong",
  ]);
});

test("excerpts are around the answer, and the first two passages are unfolded", () => {
  const long = `${"before ".repeat(40)}it was in PARIS, France. ${"after ".repeat(60)}`;
  const { markup } = sampleCards([
    { ...sample("q"), after: reply("Rome", "no capital here", long, "third", "fourth") },
  ]);
  assert.match(markup, /no capital here<\/li>/);
  assert.match(markup, /…[ ]?(before )+it was in <mark>PARIS<\/mark>, France\. (after )+…<\/li>/);
  assert.match(markup, /Title 1<\/span> <b class="right">✓<\/b>\s*<span class="quiet">2\.75</);
  const [, shown] = markup.match(/<mark>PARIS<\/mark>(.*?)<\/li>/)!;
  assert.ok(shown!.length > 80 && shown!.length < 140, `${shown!.length}`);
  assert.match(markup, /<summary>2 more<\/summary>\s*<ol start="3">/);
  assert.match(markup, /<b class="wrong">Rome ✗<\/b>/);
});

test("an empty answer and an untitled passage have placeholders", () => {
  const passages = [{ title: "", text: "", score: 0 }];
  const { markup } = sampleCards([
    { question: "q", gold: ["b"], before: { answer: "", passages } },
  ]);
  assert.match(markup, /no answer ✗/);
  assert.match(markup, /untitled/);
});

test.run();
