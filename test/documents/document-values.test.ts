/** Documents that are values: split as files are, long texts too, and found and removed by id. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type DocumentInput, type Passage, ReAtt, splitDocuments } from "../../src/index.ts";
import { pdf, readOne } from "./support.ts";

const model = await ReAtt.load("models/reatt-mini");
const folder = mkdtempSync(join(tmpdir(), "reatt-values-"));
test.after(async () => {
  await model.close();
  rmSync(folder, { recursive: true });
});

async function passagesOf(documents: readonly unknown[]): Promise<Passage[]> {
  const passages: Passage[] = [];
  const options = { tokenizer: model.tokenizer, onSkip() {} };
  for await (const passage of splitDocuments(documents as DocumentInput[], options))
    passages.push(passage);
  return passages;
}

test("content is split as a file of its format is", async () => {
  const text = "# Guide\n\n## Start\n\nPress the key.\n\n## End\n\nHold the key.\n";
  const { passages } = await readOne("guide.md", text, { tokenizer: model.tokenizer });
  const metadata = { topic: "keys" };
  const values = await passagesOf([
    { id: "7", content: text, format: "markdown", metadata },
    { id: "8", content: Buffer.from(text), format: "md", title: "Manual" },
    { id: "9", content: pdf("It snows."), format: "pdf" },
  ]);
  assert.equal(
    values.slice(0, 2).map(({ title, text: own }) => [title, own]),
    passages.map(({ title, text: own }) => [title, own]),
  );
  assert.equal(values[0]!.metadata, { _lines: "5", _headings: ["Start"], topic: "keys" });
  assert.equal(
    values.map(({ id, document }) => [id, document]),
    [
      ["7#1", "7"],
      ["7#2", "7"],
      ["8#1", "8"],
      ["8#2", "8"],
      ["9#1", "9"],
    ],
  );
  assert.is(values[2]!.title, "Manual > Start");
  assert.is(values[4]!.text, "It snows.");
});

test("a text that the model reads whole is a passage, a longer one is split", async () => {
  const short = { id: "short", title: "Key", text: "Press the key." };
  const long = { id: "long", title: "Key", text: "Press the key again. ".repeat(200) };
  const [first, ...others] = await passagesOf([short, long]);
  assert.equal(first, short);
  assert.ok(others.length > 3);
  assert.ok(others.every(({ document }) => document === "long"));
  assert.is(others.map(({ text }) => text).join(" "), long.text.trim());
});

test("what cannot be read is one line that says which document", async () => {
  const messages: Readonly<Record<string, unknown>> = {
    "the format of document 1: expected text, markdown, or an ending of .* got doc;": {
      ...{ id: "1", content: "x", format: "doc" },
    },
    "got jsonl; convert it, or give each record as a document": {
      ...{ id: "1", content: "{}", format: "jsonl" },
    },
    'document 1 \\(id .1.\\): expected "content" to be text or bytes, got 5': {
      id: "1",
      content: 5,
    },
    'passage 1 \\(id .1.\\): expected "text" to be text': { id: "1" },
  };
  for (const [message, document] of Object.entries(messages))
    try {
      await passagesOf([document]);
      assert.unreachable(message);
    } catch (error) {
      assert.match(String(error), new RegExp(message));
    }
});

test("an index follows documents: facts far behind the beginning are found, and ids are updated", async () => {
  const filler = "The valley has three farms, and cows graze on its meadows in summer. ".repeat(60);
  const fact = "The bridge of Arven was built by Elin Holt in 1911.";
  const documents = [
    { id: "arven", title: "Arven", text: `${filler}${fact}` },
    { id: "page", content: "<h1>Mill</h1><p>The mill opens at nine.</p>", format: "html" },
  ];
  const directory = join(folder, "index");
  {
    await using index = await model.openOrIndex(documents, { directory });
    const { answer, source } = await model.answer("Who built the bridge of Arven?", index);
    assert.is(answer, "Elin Holt");
    assert.match(source!.id, /^arven#/);
  }
  await using index = await model.openOrIndex(
    [{ id: "page", content: "<h1>Mill</h1><p>The mill opens at ten.</p>", format: "html" }],
    { directory, delete: true },
  );
  assert.is(index.passageCount, 1);
  assert.is((await model.answer("When does the mill open?", index)).answer, "at ten");
});

test.run();
