import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  formatMaskedSentence,
  loadTagger,
  type MaskedSentence,
  type MaskingCounts,
  type MaskingOptions,
  maskedSentences,
  removeMaskedSentence,
  type Tagger,
} from "../../../src/training/salient-spans/index.ts";

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

async function collect(
  passages: Iterable<Passage>,
  options: MaskingOptions = {},
): Promise<{ examples: MaskedSentence[]; counts: MaskingCounts }> {
  const examples: MaskedSentence[] = [];
  const generator = maskedSentences(passages, { tagger, ...options });
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return { examples, counts: value };
    examples.push(value);
  }
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.unreachable("was not refused"),
    (thrown: unknown) => thrown,
  );
  assert.instance(error, InputError);
  assert.not.match((error as Error).message, "\n");
  return (error as Error).message;
}

test("an example is a sentence with its entity masked, with exact offsets", async () => {
  const { examples, counts } = await collect([armstrong, curie], { perPassage: 5 });
  assert.equal(counts, { passages: 2, passagesWithoutExample: 0, examples: 5 });
  for (const { question, entity, passageId, sentence } of examples) {
    const { text } = passageId === "moon" ? armstrong : curie;
    const original = text.slice(sentence.start, sentence.end);
    assert.is(question.replace("<extra_id_0>", entity), original);
  }
  const walked = examples.find(({ entity }) => entity === "Neil Armstrong");
  assert.is(walked?.question, "<extra_id_0> was the first of them to walk there.");
  assert.is(walked?.kind, "person");
});

test("a seed draws the same from a passage, whatever the order, and fewer are the first of more", async () => {
  const of = (list: readonly MaskedSentence[], id: string) =>
    list.filter((example) => example.passageId === id);
  const { examples } = await collect([armstrong, curie], { perPassage: 3, seed: 5 });
  const { examples: reversed } = await collect([curie, armstrong], { perPassage: 3, seed: 5 });
  const { examples: single } = await collect([armstrong], { perPassage: 1, seed: 5 });
  assert.equal(of(examples, "moon"), of(reversed, "moon"));
  assert.equal(of(examples, "curie"), of(reversed, "curie"));
  assert.equal(single, of(examples, "moon").slice(0, 1));
  const firsts = await Promise.all(
    Array.from(
      { length: 20 },
      async (_, seed) => (await collect([armstrong], { seed })).examples[0]?.entity,
    ),
  );
  assert.ok(new Set(firsts).size > 1);
});

test("filters: entity twice, single characters, long sentences, few words left, a sentinel in the text", async () => {
  const always: Tagger = (sentence) => [
    { start: 0, end: sentence.indexOf(" "), kind: "first word" },
  ];
  const usable = "Paris has many old bridges and towers.";
  const texts = [
    "Paris is what the people of paris call it.",
    "X marks the place where gold was hidden.",
    `Paris ${"is large and ".repeat(45)}old.`,
    "Paris has three old bridges.",
    "Paris has <extra_id_5> many old bridges and towers.",
    usable,
  ];
  const { examples, counts } = await collect(
    texts.map((text, i) => ({ id: `${i}`, title: "", text })),
    { tagger: always },
  );
  assert.equal(
    examples.map(({ question }) => question),
    ["<extra_id_0> has many old bridges and towers."],
  );
  assert.equal(counts, { passages: 6, passagesWithoutExample: 5, examples: 1 });
});

test("a passage of one sentence gives an example, an empty one none", async () => {
  const single = { id: "single", title: "", text: "She was born in the old town of Warsaw." };
  const { examples, counts } = await collect([{ id: "empty", title: "", text: " \n" }, single]);
  assert.is(examples[0]?.question, "She was born in the old town of <extra_id_0>.");
  assert.equal(counts, { passages: 2, passagesWithoutExample: 1, examples: 1 });
});

test("a corpus without a usable span is refused in one line, once all is read", async () => {
  const dull = { id: "dull", title: "", text: "it rained and then it rained again and again." };
  const foreign = {
    id: "ja",
    title: "",
    text: "東京は日本の首都であり、世界最大の都市の一つである。",
  };
  assert.match(await refusal(collect([dull, foreign])), "got none in 2 passages");
  assert.match(await refusal(collect([])), "got none in 0 passages");
  assert.match(
    await refusal(collect([armstrong], { perPassage: 0 })),
    "expected a number of sentences, 1 or more",
  );
});

test("a tagger of one's own may be asynchronous and of another language; wrong offsets are refused", async () => {
  const kanji: Tagger = async (sentence) => {
    const start = sentence.indexOf("東京");
    return start < 0 ? [] : [{ start, end: start + 2, kind: "都市" }];
  };
  const text = "日本の首都は東京であり、人口が多い。京都は古い。";
  const { examples } = await collect([{ id: "ja", title: "", text }], { tagger: kanji });
  assert.is(examples[0]?.question, "日本の首都は<extra_id_0>であり、人口が多い。");
  const without = removeMaskedSentence(examples[0]!, { id: "ja", title: "", text });
  assert.is(without?.text, "京都は古い。");
  const beyond: Tagger = (sentence) => [{ start: 3, end: sentence.length + 1, kind: "x" }];
  assert.match(
    await refusal(collect([armstrong], { tagger: beyond })),
    "tagger: expected spans within a sentence",
  );
});

test("text in other languages with a Latin alphabet works as far as names are written large", async () => {
  const text =
    "Die Stadt wurde im Jahr 1492 von den Truppen erobert. El escritor nació en Buenos Aires hace tiempo.";
  const { examples } = await collect([{ id: "de", title: "", text }], { perPassage: 2 });
  assert.is(examples.length, 2);
});

test("a consumer may leave early", async () => {
  for await (const example of maskedSentences([armstrong, curie], { tagger })) {
    assert.is(example.passageId, "moon");
    break;
  }
});

test("an example is shown in three lines", async () => {
  const { examples } = await collect([curie], { seed: 2 });
  const shown = formatMaskedSentence({
    ...examples[0]!,
    question: "She was\nborn in <extra_id_0>.",
    entity: "Warsaw",
  });
  assert.match(
    shown,
    /^curie:\d+-\d+ {2}\w+\n {2}question {2}She was born in ____\.\n {2}answer {4}Warsaw$/,
  );
});

test.run();
