import { test } from "uvu";
import * as assert from "uvu/assert";
import { readAs } from "../../../../src/training/examples/example.ts";
import { crops } from "../../../../src/training/examples/sources/crops.ts";
import { ALL, listOf, passagesOf, textsOf } from "../../../support/sources.ts";

const OWLS = "Owls hunt at night by ear. Their feathers make almost no sound.";

/** In many passages, equal sentences would be boilerplate. */
const owls = (i: number): string =>
  OWLS.replaceAll(" at ", ` ${i} at `).replace("make", `of ${i} make`);

test("each sentence is a query once, and its passage without it is relevant", async () => {
  const corpus = textsOf(OWLS);
  const found = await listOf(crops.examples(corpus, ALL));
  assert.equal(found.map(({ question }) => question).sort(), [
    "Owls hunt at night by ear.",
    "Their feathers make almost no sound.",
  ]);
  for (const example of found) {
    assert.equal([example.relevant, example.answers], [["p0"], []]);
    const read = readAs(example.removal!, { id: "p0", title: "", text: OWLS })!;
    assert.is(read.text.includes(example.question), Object.keys(example.removal!).length === 0);
  }
});

test("the sentence is removed from its passage in nine of ten cases", async () => {
  const texts = Array.from({ length: 300 }, (_, i) => `Bird ${i} sings in the morning. ${owls(i)}`);
  const found = await listOf(crops.examples(textsOf(...texts), { wanted: 900, seed: 1 }));
  assert.is(found.length, 900);
  const removed = found.filter(({ removal }) => removal!.cut).length / found.length;
  assert.ok(Math.abs(removed - 0.9) < 0.03, `${removed}`);
});

test("copies in other passages are removed with it", async () => {
  const [example] = (await listOf(crops.examples(textsOf(OWLS), ALL))).filter(
    ({ removal }) => removal!.cut,
  );
  const kept = "Foxes hunt in the same places at dusk.";
  const copy = { id: "p1", title: "", text: `${kept} ${example!.question.toUpperCase()}` };
  assert.is(readAs(example!.removal!, copy)!.text, kept);
  assert.is(readAs(example!.removal!, { ...copy, text: example!.question }), undefined);
});

test("text without sentence ends or spaces is cut into windows", async () => {
  const words = "owls hunt at night by ear and their feathers make almost no sound at all";
  const found = await listOf(crops.examples(textsOf(words), ALL));
  assert.equal(found.map(({ question }) => question).sort(), [
    "almost no sound at all",
    "ear and their feathers make",
    "owls hunt at night by",
  ]);
});

test("passages of one short sentence, and empty ones, have no crop", async () => {
  assert.equal(
    await listOf(crops.examples(textsOf("", "Owls hunt at night by ear.", "1 2 3"), ALL)),
    [],
  );
});

test("the seed decides, not the order of the corpus", async () => {
  const all = Array.from({ length: 40 }, (_, i) => ({
    id: `p${i}`,
    title: "",
    text: `Bird ${i} sings. ${owls(i)}`,
  }));
  const sample = { wanted: 10, seed: 3 };
  const ids = async (passages: typeof all, seed = 3) =>
    (await listOf(crops.examples(passagesOf(passages), { ...sample, seed })))
      .map(({ id }) => id)
      .sort();
  assert.equal(await ids(all), await ids(all.toReversed()));
  assert.not.equal(await ids(all), await ids(all, 4));
});

test.run();
