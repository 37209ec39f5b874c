import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passages } from "../../../../src/training/examples/example.ts";
import {
  countPhrases,
  stopWordsOf,
} from "../../../../src/training/examples/sources/phrase-table.ts";
import { phrases } from "../../../../src/training/examples/sources/phrases.ts";
import { wordsOf } from "../../../../src/training/examples/sources/words.ts";
import { ALL, listOf, passagesOf, textsOf } from "../../../support/sources.ts";

const OWLS = textsOf(
  "the barn owl hunts by ear in the dark of the night",
  "by day the barn owl sleeps in the roof of the house",
  "the red fox hunts in the dark and the hare hides",
  "the sea is deep and the fish of the sea are blind",
);

async function found(corpus: Passages, text: string, max?: number): Promise<string[]> {
  const table = await countPhrases(corpus, 0, max);
  const words = wordsOf(text);
  return table
    .find(words, text)
    .map(({ first, end, passages }) =>
      [text.slice(words[first]!.start, words[end - 1]!.end), passages].join(" "),
    );
}

test("phrases of two passages, counted by hand", async () => {
  assert.equal([...(await stopWordsOf(OWLS, 0))].sort(), ["in", "of", "the"]);
  assert.equal(await found(OWLS, "A barn owl, dark, hunts in the dark"), [
    "barn 2",
    "barn owl 2",
    "owl 2",
    "dark 2",
    "hunts 2",
    "dark 2",
  ]);
});

test("a phrase has no punctuation inside, and is not in every passage", async () => {
  const corpus = textsOf("Wheaten bread. Butter, salt", "wheaten bread butter salt", "wheaten");
  assert.equal(await found(corpus, "wheaten bread butter salt"), [
    "wheaten bread 2",
    "bread 2",
    "butter 2",
    "salt 2",
  ]);
});

test("a table that is too small has a sample of the phrases, with exact counts", async () => {
  const text = Array.from({ length: 400 }, (_, i) => `word${i}`).join(". ");
  const corpus = textsOf(text, text, "another");
  const all = await found(corpus, text);
  assert.is(all.length, 400);
  const some = await found(corpus, text, 100);
  assert.ok(some.length > 25 && some.length <= 100, `${some.length}`);
  assert.ok(some.every((phrase) => phrase.endsWith(" 2")));
});

test("half of the examples mask the phrase; the others ask for it", async () => {
  const made = await listOf(phrases(OWLS, ALL));
  assert.ok(made.length >= 3);
  const many = textsOf(
    ...Array.from({ length: 200 }, (_, i) => `barn${i % 90} owl sits high on old tree number ${i}`),
  );
  const examples = await listOf(phrases(many, ALL));
  const masked = examples.filter(({ answers }) => answers.length > 0);
  assert.ok(Math.abs(masked.length / examples.length - 0.5) < 0.12, `${masked.length}`);
  for (const {
    question,
    answers: [answer],
    evidence,
    relevant,
    id,
    removal,
  } of examples) {
    const source = id.split(":")[0]!;
    assert.ok(evidence !== undefined && relevant.length > 0 && !relevant.includes(source));
    if (answer === undefined) assert.is(removal!.passageId, source);
    else {
      assert.is(evidence, answer);
      assert.match(question, "<extra_id_0>");
      assert.is(removal!.copies!.sentence, question.replace("<extra_id_0>", answer));
    }
  }
});

const SCRIPTS: Readonly<Record<string, (i: number) => string>> = {
  Chinese: (i) => `图书馆${i}号的读者使用信息检索系统查询资料和文献`,
  Thai: (i) => `ห้องสมุดหมายเลข ${i} ใช้ระบบค้นหาข้อมูลสำหรับนักเรียนทุกคน`,
  Russian: (i) => `библиотека номер ${i} использует систему поиска для всех читателей города`,
  Arabic: (i) => `المكتبة رقم ${i} تستخدم نظام البحث لجميع القراء في المدينة`,
  Amharic: (i) => `ቤተ መጻሕፍት ቁጥር ${i} የፍለጋ ስርዓት ለሁሉም አንባቢዎች ይጠቀማል`,
};

for (const [script, of] of Object.entries(SCRIPTS))
  test(`ten passages in ${script} have phrases`, async () => {
    const other = of(0).slice(0, 4);
    const texts = Array.from({ length: 10 }, (_, i) => (i % 2 ? of(i) : `${other} ${i} ${other}`));
    const examples = await listOf(phrases(textsOf(...texts), ALL));
    assert.ok(examples.length >= 3, `${examples.length}`);
  });

test("the seed decides, not the order of the corpus", async () => {
  const all: { id: string; title: string; text: string }[] = [];
  for await (const passage of OWLS.passages()) all.push(passage);
  const sorted = async (corpus: Passages, seed: number) =>
    (await listOf(phrases(corpus, { ...ALL, seed }))).map((e) => JSON.stringify(e)).sort();
  assert.equal(await sorted(OWLS, 0), await sorted(passagesOf(all.toReversed()), 0));
  assert.not.equal(await sorted(OWLS, 0), await sorted(OWLS, 1));
});

test("identical and empty documents have none", async () => {
  assert.equal(await listOf(phrases(textsOf("", " ", "…"), ALL)), []);
  const same = "the barn owl hunts by ear in the dark";
  assert.equal(await listOf(phrases(textsOf(same, same, same), ALL)), []);
});

test.run();
