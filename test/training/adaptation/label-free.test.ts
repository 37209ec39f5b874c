/** Which label-free sources are chosen for a corpus, and what cannot be used. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import {
  type ChosenSources,
  chooseSources,
  sourcesIn,
} from "../../../src/training/adaptation/label-free.ts";
import type { Passages } from "../../../src/training/examples/example.ts";
import {
  type AdaptOptions,
  requestedSources,
} from "../../../src/training/options/adapt-options.ts";
import { capitals, PASSAGES } from "../../support/adaptation.ts";
import { passagesOf, textsOf } from "../../support/sources.ts";

type Named = NonNullable<AdaptOptions["sources"]>;

const choose = (
  corpus: Passages,
  sources: Named = ["auto"],
  options = {},
): Promise<ChosenSources> =>
  chooseSources(requestedSources({ out: "out", sources, ...options }), corpus, options);
const chosen = async (corpus: Passages, options = {}): Promise<string[]> =>
  sourcesIn(await choose(corpus, ["auto"], options)).map(({ name }) => name);

const refusal = async (corpus: Passages, sources?: Named): Promise<string> => {
  const error = await choose(corpus, sources).catch((e: Error) => e);
  assert.instance(error, InputError);
  assert.not.match((error as Error).message, "\n");
  return (error as Error).message;
};

const BIRDS = ["barn owl", "snowy owl", "red kite", "barn swallow", "red fox"];
const sentence = (i: number): string =>
  `the ${BIRDS[i % 5]} of field ${i} sleeps by day. at night the ${BIRDS[(i + 1) % 5]} sings in it`;

test("English with capital letters and titles has all sources", async () => {
  const text = (i: number) =>
    `The ${BIRDS[i % 5]} of Norway sleeps by day in May ${1900 + i}. In Oslo, Anna heard it sing.`;
  const corpus = passagesOf(
    Array.from({ length: 10 }, (_, i) => ({
      id: `${i}`,
      title: `Report ${i} on a bird`,
      text: text(i),
    })),
  );
  assert.equal(await chosen(corpus), ["spans", "crops", "titles"]);
});

test("a corpus in lower case without titles: crops, no tagger", async () => {
  const corpus = textsOf(...Array.from({ length: 10 }, (_, i) => sentence(i)));
  const { reason, labelFree } = await choose(corpus);
  assert.equal(await chosen(corpus), ["crops"]);
  assert.match(reason!, /^titles of 0 % of passages, .* no text for the tagger of names$/);
  assert.equal(
    labelFree.map(({ available }) => available > 5),
    [true],
  );
});

test("ten passages in Chinese, without sentence ends", async () => {
  const places = ["图书馆", "博物馆", "大学", "医院", "学校"];
  const text = (i: number) =>
    `${places[i % 5]}的读者使用信息检索系统查询资料和文献${places[(i + 2) % 5]}也有许多历史文献${i}`;
  const corpus = textsOf(...Array.from({ length: 10 }, (_, i) => text(i)));
  assert.equal(await chosen(corpus), ["crops"]);
});

test("a tagger of the caller's is used for any text", async () => {
  const options = { tagger: capitals };
  const names = await chosen(passagesOf(PASSAGES), options);
  assert.equal(names, ["spans", "crops", "titles"]);
  const german = textsOf(
    ...PASSAGES.map(
      ({ title }) =>
        `Der alte Hafen von ${title} liegt im Norden. Viele Leute reisen nach ${title}.`,
    ),
  );
  assert.not.ok((await chosen(german)).includes("spans"));
  assert.ok((await chosen(german, options)).includes("spans"));
});

test("what has nothing to learn from is one clear line", async () => {
  const one = "Owls hunt at night by ear. Their feathers make almost no sound.";
  assert.match(await refusal(textsOf("", " ", "")), /got no words in 3 passages/);
  assert.match(await refusal(textsOf(one)), /different texts, got one text; split long documents/);
  assert.match(await refusal(textsOf(one, one, one)), /got one text in 3 passages/);
  assert.match(await refusal(textsOf("🙂🙂", "→→")), /got no words in 2 passages/);
  assert.match(await refusal(textsOf("a b", "c d")), /crops, titles: expected an example/);
  assert.match(await refusal(textsOf(one, "b c"), ["titles"]), /^titles: expected an example/);
});

test.run();
