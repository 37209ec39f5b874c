import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSentences } from "../../../../src/training/examples/sources/sentence-file.ts";
import { temporaryFolder } from "../../../support/training.ts";

async function read(content: string): Promise<{ size: number; texts: string[] }> {
  await using folder = temporaryFolder();
  const file = join(folder.path, "sentences");
  writeFileSync(file, content);
  const { size, passages } = await openSentences(file);
  const texts: string[] = [];
  for await (const { text } of passages((id) => id !== "sentence 3")) texts.push(text);
  return { size, texts };
}

test("lines of text, or JSON with text or sentence; blank lines are left out", async () => {
  assert.equal(await read("One.\n\nTwo.\nThree.\n"), { size: 3, texts: ["One.", "Three."] });
  assert.equal(await read('{"text":"One."}\n{"_id":"b","sentence":"Two."}\n'), {
    size: 2,
    texts: ["One.", "Two."],
  });
});

test("what cannot be used is one clear line", async () => {
  const message = async (content: string): Promise<string> =>
    ((await read(content).catch((error: Error) => error)) as Error).message;
  assert.match(await message("\n \n"), /sentences: expected at least one sentence, got none/);
  assert.match(
    await message('{"text":"One."}\nTwo.\n'),
    /sentences:2: expected a JSON object with/,
  );
});

test.run();
