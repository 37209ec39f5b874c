import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passage } from "../../../../src/text/passage.ts";
import { type Example, readAs } from "../../../../src/training/examples/example.ts";
import { maskedSpans } from "../../../../src/training/examples/sources/masked-spans.ts";
import { loadTagger, type Tagger } from "../../../../src/training/salient-spans/index.ts";
import { refused } from "../../../checkpoints/support.ts";
import { listOf, passagesOf } from "../../../support/sources.ts";

const tagger = await loadTagger();

const armstrong: Passage = {
  id: "moon",
  title: "Moon landing",
  text:
    "In July 1969 two astronauts landed on the surface. Neil Armstrong was the first of them to walk there. " +
    "It was seen by many people on television. The mission was planned for years by engineers at NASA.",
};
const curie: Passage = {
  id: "curie",
  title: "",
  text: "Marie Curie discovered two elements and won prizes. She was born in the old town of Warsaw.",
};

/** With `perPassage` sentences of each passage. */
const collect = (
  passages: readonly Passage[],
  perPassage = 5,
  { seed = 0, tagger: own = tagger }: { seed?: number; tagger?: Tagger } = {},
): Promise<Example[]> => {
  const wanted = perPassage * passages.length;
  return listOf(maskedSpans(own).examples(passagesOf(passages), { seed, wanted }));
};

test("an example is a sentence with its entity masked, and its passage is read without it", async () => {
  const examples = await collect([armstrong, curie]);
  assert.is(examples.length, 5);
  for (const { id, question, answers, relevant, removal } of examples) {
    const { text } = relevant[0] === "moon" ? armstrong : curie;
    const [, start, end] = /:(\d+)-(\d+)$/.exec(id)!;
    const original = text.slice(Number(start), Number(end));
    assert.is(question.replace("<extra_id_0>", answers[0]!), original);
    assert.equal(removal!.copies, { sentence: original, entity: answers[0] });
  }
  const walked = examples.find(({ answers }) => answers[0] === "Neil Armstrong");
  assert.is(walked?.question, "<extra_id_0> was the first of them to walk there.");
});

test("the passage of a sentence is relevant without the sentence", async () => {
  const [example] = await collect([curie], 1);
  assert.equal(example!.relevant, ["curie"]);
  assert.ok(readAs(example!.removal!, curie)!.text.length < curie.text.length);
});

test("a seed draws the same from a passage, whatever the order, and fewer are the first of more", async () => {
  const of = (list: readonly Example[], id: string) =>
    list.filter(({ relevant }) => relevant[0] === id);
  const examples = await collect([armstrong, curie], 3, { seed: 5 });
  const reversed = await collect([curie, armstrong], 3, { seed: 5 });
  const single = await collect([armstrong], 1, { seed: 5 });
  assert.equal(of(examples, "moon"), of(reversed, "moon"));
  assert.equal(of(examples, "curie"), of(reversed, "curie"));
  assert.equal(single, of(examples, "moon").slice(0, 1));
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  const firsts = await Promise.all(
    seeds.map(async (seed) => (await collect([armstrong], 1, { seed }))[0]?.answers[0]),
  );
  assert.ok(new Set(firsts).size > 1);
});

test("filters: entity twice, single characters, long sentences, few words left, a sentinel in the text", async () => {
  const always: Tagger = (sentence) => [{ start: 0, end: sentence.indexOf(" ") }];
  const texts = [
    "Paris is what the people of paris call it.",
    "X marks the place where gold was hidden.",
    `Paris ${"is large and ".repeat(45)}old.`,
    "Paris has three old bridges.",
    "Paris has <extra_id_5> many old bridges and towers.",
    "Paris has many old bridges and towers.",
    " \n",
  ];
  const passages = texts.map((text, i) => ({ id: `${i}`, title: "", text }));
  assert.equal(
    (await collect(passages, 5, { tagger: always })).map(({ question }) => question),
    ["<extra_id_0> has many old bridges and towers."],
  );
});

test("a passage of one sentence gives an example; text without names gives none", async () => {
  const text = "She was born in the old town of Warsaw.";
  const [example] = await collect([{ id: "single", title: "", text }]);
  assert.is(example?.question, "She was born in the old town of <extra_id_0>.");
  const dull = "it rained and then it rained again and again.";
  const foreign = "東京は日本の首都であり、世界最大の都市の一つである。";
  for (const other of [dull, foreign])
    assert.equal(await collect([{ id: "other", title: "", text: other }]), []);
});

test("a tagger of one's own may be asynchronous and of another language; wrong offsets are refused", async () => {
  const kanji: Tagger = async (sentence) => {
    const start = sentence.indexOf("東京");
    return start < 0 ? [] : [{ start, end: start + 2 }];
  };
  const passage = { id: "ja", title: "", text: "日本の首都は東京であり、人口が多い。京都は古い。" };
  const [example] = await collect([passage], 5, { tagger: kanji });
  assert.is(example?.question, "日本の首都は<extra_id_0>であり、人口が多い。");
  assert.is(
    readAs(example!.removal!, { ...passage, text: `${passage.text}大阪も古い町だ。` })?.text,
    "京都は古い。大阪も古い町だ。",
  );
  const beyond: Tagger = (sentence) => [{ start: 3, end: sentence.length + 1 }];
  await refused(
    collect([armstrong], 5, { tagger: beyond }),
    /tagger: expected spans within a sentence/,
  );
});

test("text in other languages with a Latin alphabet works as far as names are written large", async () => {
  const text =
    "Die Stadt wurde im Jahr 1492 von den Truppen erobert. El escritor nació en Buenos Aires hace tiempo.";
  assert.is((await collect([{ id: "de", title: "", text }], 2)).length, 2);
});

test.run();
