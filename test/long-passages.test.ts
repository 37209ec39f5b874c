/** A passage that is longer than the model reads is indexed, explained and read in windows. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../src/index.ts";
import { windowsOf } from "../src/text/tokens/windows.ts";
import { tinyConfig } from "./support/tiny-model.ts";
import { makeTinyModel, temporaryFolder } from "./support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
await makeTinyModel(at("model"), tinyConfig());

const FILLER = "The committee met on a rainy day. ";
const FACT = "Zaragoza has 666,880 inhabitants. ";
const LONG = {
  id: "long",
  title: "Minutes",
  text: `${FILLER.repeat(90)}${FACT}${FILLER.repeat(9)}`,
};
const SHORT = { id: "short", title: "Rhine", text: "The Rhine flows to the North Sea." };

for (const bits of [undefined, 4] as const)
  test(`the keys of a long passage are those of its windows, ${bits ?? 32} bits`, async () => {
    await using model = await ReAtt.load(at("model"));
    const windows = windowsOf(model.tokenizer, LONG, 512);
    assert.ok(windows.length > 1);
    const parts = windows.map((window, i) => ({ id: `${i}`, ...window }));
    const directory = at(`long-${bits}`);
    await using index = await model.index([SHORT, LONG], { directory, bits });
    await using split = await model.index(parts, { directory: `${directory}-split`, bits });
    const question = "How many inhabitants has Zaragoza?";
    const best = (await model.retrieve(question, split, { hybrid: false, explain: true }))[0]!;
    const found = await model.retrieve(question, index, { hybrid: false, explain: true });
    const { scores } = found.find(({ id }) => id === "long")!;
    if (bits === undefined) {
      const [, long] = await Promise.all([0, 1].map((i) => index.snapshot((own) => own.keys(i))));
      const each = parts.map((_, i) => split.snapshot((own) => own.keys(i)));
      const all = (await Promise.all(each)).flatMap((keys) => [...keys]);
      const farthest = Math.max(...all.map((value, i) => Math.abs(value - long![i]!)));
      assert.is(long!.length, all.length);
      assert.ok(farthest < 1e-4, `${farthest}`);
    }
    assert.ok(scores!.similarity >= best.scores!.similarity - 0.02, "of tokens of all windows");
  });

test("a fact behind the first window is found by words and by the model", async () => {
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index([SHORT, LONG], { directory: at("found") });
  const question = "How many inhabitants has Zaragoza?";
  const [hit] = await model.retrieve(question, index, { hybrid: false });
  assert.is(hit!.id, "long");
  const { tokens } = await model.explain(question, hit!, index);
  const spans = tokens.flatMap(({ match }) => (match.field === "text" ? [match] : []));
  for (const { span, token } of spans) {
    const own = LONG.text.slice(span!.start, span!.end);
    assert.is(own.trim().toLowerCase(), token.trim().toLowerCase(), "where the token stands");
  }
  const from = LONG.text.indexOf(FACT);
  const inFact = spans.filter(({ span }) => span!.start >= from && span!.end <= from + FACT.length);
  assert.ok(inFact.length > 3, `${inFact.length} tokens of the fact match`);
  assert.match((await model.answer(question, index)).answer, "666,880");
});

test.run();
