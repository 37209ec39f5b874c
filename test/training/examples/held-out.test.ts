/** Which examples are held out: nothing about one passage is on both sides. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Example } from "../../../src/training/examples/example.ts";
import { holdOut, type Split } from "../../../src/training/examples/held-out.ts";
import { nearCopies } from "../../../src/training/examples/near-copies.ts";
import { crops } from "../../../src/training/examples/sources/crops.ts";
import { ALL, listOf, passagesOf, textsOf } from "../../support/sources.ts";

const NOUNS = "owl fox hare mole stoat heron newt otter badger vole".split(" ");
const sentence = (i: number, j: number): string =>
  `The ${NOUNS[(i + j) % 10]} number ${i} met ${NOUNS[(3 * i + j) % 10]} ${j} near gate ${7 * i + j}.`;
/** 100 texts of three sentences; each has a copy with one word changed. */
const TEXTS = Array.from({ length: 100 }, (_, i) => [0, 1, 2].map((j) => sentence(i, j)).join(" "));
const CORPUS = textsOf(...TEXTS, ...TEXTS.map((text) => text.replace("near", "beside")));

test("near copies have one group, other texts have others", async () => {
  const groupOf = await nearCopies(CORPUS.passages());
  const groups = TEXTS.map((_, i) => groupOf(`p${i}`));
  const withCopy = TEXTS.filter((_, i) => groupOf(`p${100 + i}`) === groups[i]);
  assert.ok(withCopy.length > 95, `${withCopy.length}`); // s = 0.79
  assert.ok(new Set(groups).size > 95, `${new Set(groups).size}`);
  const empty = await nearCopies(textsOf("", "", "one two", "one two").passages());
  assert.is.not(empty("p0"), empty("p1"));
  assert.is(empty("p2"), empty("p3"));
});

const question = (i: number, relevant: number): Example => ({
  ...{ id: `${i}`, question: `where is ${i % 150}?`, answers: [] },
  relevant: [`p${relevant}`],
});
const sourceOf = ({ relevant }: Example): string => relevant[0]!;
const split = async (
  sources: readonly [string, readonly Example[]][],
  max = 20,
): Promise<ReadonlyMap<string, Split>> =>
  holdOut(new Map(sources), CORPUS, { seed: 1, max: () => max });

test("what is made of a passage or of its copies is on one side, over all sources", async () => {
  const made = await listOf(crops.examples(CORPUS, ALL));
  const asked = Array.from({ length: 200 }, (_, i) => question(i, i));
  const splits = await split([
    ["crops", made],
    ["questions", asked],
  ]);
  const groupOf = await nearCopies(CORPUS.passages());
  const groupsOf = (part: "training" | "heldOut") =>
    new Set([...splits.values()].flatMap((one) => one[part].map(sourceOf)).map(groupOf));
  const [trained, heldOut] = [groupsOf("training"), groupsOf("heldOut")];
  assert.ok(heldOut.size > 0);
  assert.not.ok([...heldOut].some((group) => trained.has(group)));
  for (const [name, { training, heldOut }] of splits) {
    assert.is(heldOut.length, 20, name);
    const all = name === "crops" ? made : asked;
    assert.ok(training.length > 0.7 * all.length, `${name} ${training.length}`);
    for (const part of [training, heldOut])
      assert.equal(
        part,
        all.filter((one) => part.includes(one)),
      );
  }
});

test("all that is made of held-out passages measures; what is about many passages is drawn first", async () => {
  const passages = TEXTS.map((text, i) => ({ id: `p${i}`, title: "", text }));
  const corpus = passagesOf(passages);
  const made = await listOf(crops.examples(corpus, ALL));
  const chapters = Array.from({ length: 20 }, (_, i) => ({
    ...question(i, 0),
    question: `chapter ${NOUNS[i % 10]} ${i}`,
    relevant: [0, 1, 2, 3, 4].map((j) => `p${5 * i + j}`),
  }));
  const splits = await holdOut(
    new Map<string, readonly Example[]>([
      ["crops", made],
      ["titles", chapters],
    ]),
    corpus,
    { seed: 1, max: () => 100 },
  );
  const { training, heldOut } = splits.get("crops")!;
  assert.is(splits.get("titles")!.heldOut.length, 5);
  const chapter = ({ relevant }: Example) => Math.floor(Number(relevant[0]!.slice(1)) / 5);
  assert.is(new Set(heldOut.map(chapter)).size, 5, "25 passages are held out");
  assert.is(training.length + heldOut.length, made.length);
});

test("equal questions are on one side; labelled queries may share passages", async () => {
  const labelled = Array.from({ length: 300 }, (_, i) => ({
    ...question(i, 0), // query i and query i + 150 are the same
    labels: [1],
  }));
  const unknown = labelled.map(({ labels: _, ...one }) => ({ ...one, relevant: [] }));
  for (const [name, examples] of [
    ["labels", labelled],
    ["questions", unknown],
  ] as const) {
    const { training, heldOut } = (await split([[name, examples]])).get(name)!;
    assert.is(heldOut.length, 20);
    const texts = new Set(training.map((one) => one.question));
    assert.not.ok(heldOut.some((one) => texts.has(one.question)));
    assert.ok(training.length >= 278, `${training.length}`);
  }
});

test("a text of all documents stays in training", async () => {
  const same = Array.from({ length: 100 }, (_, i) => ({ id: `p${i}`, title: "", text: TEXTS[0]! }));
  const examples = Array.from({ length: 100 }, (_, i) => question(i, i));
  const all = new Map<string, readonly Example[]>([["questions", examples]]);
  const splits = await holdOut(all, passagesOf(same), { seed: 1, max: () => 20 });
  assert.equal(
    [...splits.values()].map(({ heldOut }) => heldOut.length),
    [0],
  );
});

test.run();
