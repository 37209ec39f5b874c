/** What a reply says beside its answer: cut passages, questions that cannot be read, low scores. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError, ReAtt } from "../src/index.ts";
import { tinyConfig } from "./support/tiny-model.ts";
import { makeTinyModel, temporaryFolder } from "./support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
await makeTinyModel(at("model"), tinyConfig());

const WORDS = "The Rhine flows from the Alps to the North Sea. ";
const PASSAGES = [
  { id: "short", title: "Rhine", text: WORDS },
  { id: "long", title: "Rhine", text: WORDS.repeat(100) },
  { id: "other", title: "James Watt", text: "James Watt patented a steam engine in 1781." },
];

test("minScore leaves out passages with lower scores", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(PASSAGES, { directory: at("scores") });
  const all = await model.retrieve("Where does it flow?", index, { topK: 3 });
  assert.is(all.length, 3);
  const { score } = all[1]!;
  const some = await model.retrieve("Where does it flow?", index, { topK: 3, minScore: score });
  assert.equal(
    some.map(({ id }) => id),
    all.filter((hit) => hit.score >= score).map(({ id }) => id),
  );
  const none = { topK: 3, minScore: all[0]!.score + 1 };
  assert.equal(await model.retrieve("Where does it flow?", index, none), []);
});

test("a reply says how many tokens of a passage were cut", async () => {
  await using model = await ReAtt.load(at("model"));
  const { passages } = await model.read("Where does it flow?", PASSAGES);
  const cut = Object.fromEntries(passages.map(({ id, cutTokens }) => [id, cutTokens ?? 0]));
  assert.equal([cut.short, cut.other], [0, 0]);
  assert.ok(cut.long! > 100, `${cut.long}`);
});

test("a question that is too long has an error of its own", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(PASSAGES, { directory: at("batch") });
  const questions = ["Where does it flow?", "why ".repeat(600), "Who patented it?"];
  const replies = [];
  for await (const reply of model.answer(questions, index)) replies.push(reply);
  assert.equal(
    replies.map(({ error }) => error instanceof InputError),
    [false, true, false],
  );
  assert.match(replies[1]!.error!.message, /at most 512 tokens/);
  assert.ok(replies[1]!.abstained);
});

test.run();
