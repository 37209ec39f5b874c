/** Questions made from sentences: what they may say and what not, over many drawn ones. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { ask, wordsOf } from "../../recipes/reatt-mini/data/make-question.ts";
import { createRandom } from "../../src/math/random.ts";

const SHAW = { masked: "Jarred Shaw was born on <extra_id_0>, in Dallas, Texas.", title: "" };
const asked = (from: Parameters<typeof ask>[0]): string[] =>
  Array.from({ length: 200 }, (_, seed) => ask(from, createRandom(seed)));

test("ask for what was masked, by its kind and its form", () => {
  const openings = (answer: string, kind: string): Set<string> =>
    new Set(asked({ ...SHAW, answer, kind }).map((question) => wordsOf(question)[0]!));
  assert.equal([...openings("4 May 1990", "date")], ["when"]);
  assert.equal([...openings("1990", "date")].sort(), ["in", "what", "when"]);
  assert.equal([...openings("Jones", "person")], ["who"]);
  assert.equal([...openings("quiet place", "phrase")].sort(), ["what", "which"]);
});

test("say neither the answer nor the words that lead to it", () => {
  for (const question of asked({ ...SHAW, answer: "4 May 1990", kind: "date" })) {
    assert.not.match(question, /extra_id|1990|May/);
    assert.not.match(question, /\bon\b/);
    assert.match(question, /^when( \S+)+\?$/);
  }
});

test("put verbs before the answer in their infinitive, those after it as they are", () => {
  const questions = asked({
    masked: "Shaw signed with <extra_id_0> and scored a goal.",
    answer: "Trouville",
    kind: "organisation",
    title: "",
  });
  assert.ok(questions.some((question) => /did Shaw sign\b.* scored/.test(question)));
  assert.not.ok(questions.some((question) => /\bscore\b/.test(question)));
});

test("say no more than the clause about what was masked, with an auxiliary verb or without", () => {
  const questions = asked({
    masked:
      "Shaw signed with <extra_id_0> for another year in May, which they regretted after several terrible matches.",
    answer: "Trouville",
    kind: "organisation",
    title: "",
  });
  for (const auxiliary of [/ (?:did|does) /, /^(?!.* (?:did|does) )/]) {
    const some = questions.filter(
      (question) => auxiliary.test(question) && /\bsign\b/.test(question),
    );
    const short = some.filter((question) => !/regretted|several|terrible|matches/.test(question));
    assert.ok(
      some.length > 10 && short.length > some.length / 2,
      `${short.length} of ${some.length}`,
    );
  }
});

test("count what the number counts", () => {
  const questions = asked({
    masked: "He received <extra_id_0> votes in the first round.",
    answer: "277,068",
    kind: "number",
    title: "1996 election",
  });
  assert.ok(questions.every((question) => question.startsWith("how many votes ")));
  assert.ok(questions.every((question) => question.split("votes").length === 2));
  assert.ok(questions.every((question) => question.endsWith(" 1996 election?")));
});

test.run();
