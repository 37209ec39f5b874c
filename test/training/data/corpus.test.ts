import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passage } from "../../../src/text/passage.ts";
import { pickPassages, surveyCorpus } from "../../../src/training/data/corpus.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "corpus.jsonl");
const passages: Passage[] = ["a", "b", "c", "d"].map((id) => ({
  id,
  title: `title ${id}`,
  text: `text ${id}`,
}));
const write = (some: readonly Passage[]): void =>
  writeFileSync(file, some.map((passage) => `${JSON.stringify(passage)}\n`).join(""));

test("all ids, and the texts of the passages named", async () => {
  write(passages);
  const { ids, digest } = await surveyCorpus(file);
  assert.equal(ids, ["a", "b", "c", "d"]);
  const picked = await pickPassages(file, ["c", "a", "c"], digest);
  assert.equal(
    [...picked],
    [
      ["a", passages[0]],
      ["c", passages[2]],
    ],
  );
});

test("a passage that is not there, and a corpus that changed", async () => {
  write(passages);
  const { digest } = await surveyCorpus(file);
  await refused(
    pickPassages(file, ["a", "x", "y"], digest),
    /corpus.jsonl: expected 3 passages that training needs, got 2 of them not there, the first 'x'; /,
  );
  for (const changed of [
    passages.slice(1),
    [...passages, { id: "e", title: "", text: "" }],
    passages.toReversed(),
    passages.map((passage) => (passage.id === "b" ? { ...passage, text: "other" } : passage)),
  ]) {
    write(changed);
    await refused(
      pickPassages(file, ["c"], digest),
      /expected the corpus that the run began with, got another/,
    );
  }
});

test.run();
