import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../../../src/math/random.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { type Removal, readAs } from "../../../../src/training/examples/example.ts";
import { maskedSpans } from "../../../../src/training/examples/sources/masked-spans.ts";
import { capitals } from "../../../support/adaptation.ts";
import { passagesOf } from "../../../support/sources.ts";
import { canBeRead } from "../can-be-read.ts";

const sentence = "The first bridge over the wide river was built by Anna Berg in the spring.";
const removal: Removal = { copies: { sentence, entity: "Anna Berg" } };
const rest = "It rained for a long time in that year.";
const passage = (text: string, title = "", id = "other"): Passage => ({ id, title, text });

/** The text of a passage after removal, or undefined when the passage is left out. */
const left = (text: string) => readAs(removal, passage(text))?.text;

test("the source passage takes part without the sentence, or not at all", () => {
  const source = passage(`${rest} ${sentence} ${rest}`, "Bridge", "source");
  assert.is(readAs(removal, source)?.text, `${rest} ${rest}`);
  assert.is(readAs(removal, { ...source, text: sentence }), undefined);
});

test("a passage without a copy comes back as it is, also when it names the entity", () => {
  for (const text of [
    rest,
    "Anna Berg was an engineer.",
    "Anna Berg built a tower in the south of the country.",
    "",
  ]) {
    const other = passage(text, "Anna Berg");
    assert.is(readAs(removal, other), other);
  }
});

test("copies in other clothes are removed", () => {
  const copies = [
    sentence.toUpperCase(),
    sentence.replaceAll(" ", "  "),
    sentence.replaceAll(" ", "\n"),
    sentence.replace("bridge", "bridge,").replace(".", " !"),
    sentence.normalize("NFD").replaceAll("i", "ｉ"), // full width
    `“${sentence.replace(".", "”.")}`,
  ];
  for (const copy of copies) assert.is(left(`${rest} ${copy} ${rest}`), `${rest} ${rest}`, copy);
});

test("near copies are removed: a word changed, words added, a piece of it", () => {
  const copies = [
    sentence.replace("wide", "broad"),
    sentence.replace("in the spring", "in the spring of 1890, the chronicle of the town says"),
    "The old and first bridge over the wide river was built by Anna Berg in the spring.",
    "The wide river was built by Anna Berg in the spring.",
  ];
  for (const copy of copies) assert.is(left(`${copy} ${rest}`), rest, copy);
});

test("a copy that runs over two sentences, or that removal would bring together, is removed too", () => {
  const [first, second] = [
    "The first bridge over the wide river was built.",
    "By Anna Berg in the spring.",
  ];
  assert.is(left(`${first} ${second} ${rest}`), rest);
  assert.is(left(`${first} ${sentence} ${second} ${rest}`), rest);
});

test("other facts in similar words stay", () => {
  const facts = [
    "The second tower on the narrow coast was built by Anna Berg in the autumn.",
    "The first bridge over the wide river was built by Carl Holm in the spring.", // not the answer
  ];
  for (const fact of facts) assert.is(left(`${fact} ${rest}`), `${fact} ${rest}`);
});

test("nothing of use left: the passage is left out", () => {
  assert.is(left(sentence), undefined);
  assert.is(left(`${sentence} It rained.`), undefined);
});

test("a title that is the sentence is emptied", () => {
  assert.equal(readAs(removal, passage(rest, sentence)), passage(rest));
});

test("no masked sentence can be read in any passage of its own example, whatever the corpus", async () => {
  const word = fc.constantFrom(
    "the",
    "river",
    "Oslo",
    "was",
    "old",
    "Rome",
    "and",
    "wide",
    "near",
    "Bern",
  );
  const end = fc.constantFrom(". ", "! ", " ", ", ", "\n", ".\n\n", " (", ") ", '" ');
  const text = fc
    .array(fc.tuple(word, end), { maxLength: 40 })
    .map((pieces) => pieces.flat().join(""));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), async (texts) => {
      // The span to mask occurs in every sentence.
      const seed = "Oslo the wide river was old and near. ";
      const corpus = [seed, ...texts, `${texts[0]} ${seed.toUpperCase()}`].map((raw, id) =>
        passage(raw, raw, `${id}`),
      );
      const sample = { wanted: 5 * corpus.length, seed: 0 };
      for await (const masked of maskedSpans(capitals).examples(passagesOf(corpus), sample)) {
        const original = masked.question.replace("<extra_id_0>", () => masked.answers[0]!);
        for (const other of corpus) {
          const kept = readAs(masked.removal!, other);
          const isReadable = [kept?.text, kept?.title].some(
            (text) => text !== undefined && canBeRead(original, text),
          );
          assert.not.ok(isReadable, JSON.stringify([masked, other]));
        }
      }
    }),
    { numRuns: 200 },
  );
});

test("a sentence with one word changed, added or lost is removed wherever it stands", () => {
  const vocabulary = Array.from({ length: 60 }, (_, i) => `word${i}`);
  for (let round = 0; round < 300; round++) {
    const random = createRandom("near copies", round);
    const length = 14 + random.integer(12);
    const words = ["Zeno", ...random.shuffle(vocabulary).slice(0, length)];
    const copies = { sentence: `${words.join(" ")}.`, entity: "Zeno" };
    const at = 1 + random.integer(length);
    const changed = [
      ...words.slice(0, at),
      ...["", "changed", `${words[at]} added`].slice(round % 3, (round % 3) + 1),
    ];
    const copy = [...changed, ...words.slice(at + 1)].join(" ");
    assert.is(
      readAs({ copies }, passage(`${rest} ${copy}. ${rest}`))?.text,
      `${rest} ${rest}`,
      copy,
    );
  }
});

test.run();
