import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../src/io/errors.ts";
import { createIdTable } from "../../src/text/id-table.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages, readQuestions } from "../../src/text/read-passages.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-corpus-"));
const file = join(folder, "corpus.jsonl");
test.after(() => rmSync(folder, { recursive: true }));

async function passages(...lines: unknown[]): Promise<Passage[]> {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const read: Passage[] = [];
  for await (const passage of readPassages(file)) read.push(passage);
  return read;
}

function questions(...lines: unknown[]): ReturnType<typeof readQuestions> {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return readQuestions(file);
}

async function refused(reading: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await reading.then(
    () => assert.unreachable("was read"),
    (reason: unknown) => reason,
  );
  assert.instance(error, InputError);
  assert.match((error as Error).message, message);
}

test("ids with lone surrogates, which UTF-8 cannot store, are rejected and never confused", async () => {
  await refused(
    passages({ _id: "\ud800", text: "x" }, { _id: "\ud801", text: "x" }),
    /:1: expected an id of Unicode text, got "\\ud800", a lone surrogate; write the id in ASCII$/,
  );
  const table = createIdTable();
  assert.is(table.firstLine("\ud800", 1), 1);
  assert.is(table.firstLine("\ud801", 2), 2);
  assert.is(table.firstLine("\ufffd", 3), 3);
  assert.equal((await passages({ _id: "😀", text: "x" }))[0]?.id, "😀");
});

test("deeply nested values are rejected with one line", async () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const lines = [
    nested(1_000_000),
    `{"id":"a","text":${nested(1_000_000)}}`,
    `{"id":${nested(90)}}`,
  ];
  for (const line of lines) {
    writeFileSync(file, line);
    await refused(readQuestions(file), /:1: expected [^\n]*$/);
    await refused(readPassages(file).next(), /:1: expected [^\n]*$/);
  }
});

test("passages of both formats, with and without title", async () => {
  assert.equal(
    await passages(
      { _id: "a", title: "T", text: "x", metadata: {} },
      { id: 7, text: "" },
      { _id: "b", id: "c", title: null, text: "y" },
    ),
    [
      { id: "a", title: "T", text: "x" },
      { id: "7", title: "", text: "" },
      { id: "b", title: "", text: "y" },
    ],
  );
});

test("errors in passages name file and line", async () => {
  const good = { _id: "a", text: "x" };
  await refused(passages(), /corpus\.jsonl: expected at least one passage, got none/);
  await refused(passages(good, [1]), /corpus\.jsonl:2: expected a JSON object, got \[1\]/);
  await refused(passages(good, { text: "x" }), /:2: expected "_id" or "id" .*, got nothing/);
  await refused(passages(good, { id: "", text: "x" }), /:2: expected "_id" or "id" .*, got ""/);
  await refused(passages(good, { id: "b" }), /:2: expected "text" with text, got nothing/);
  await refused(passages(good, { id: "b", text: 5 }), /:2: expected "text" with text, got 5/);
  await refused(
    passages(good, { id: "b", title: {}, text: "" }),
    /:2: expected text as "title", got \{\}/,
  );
  await refused(
    passages(good, { id: "b", text: "" }, good),
    /:3: expected a new id, got "a" of line 1 again/,
  );
  await refused(passages({ id: 1, text: "" }, { id: "1", text: "" }), /:2: .* "1" of line 1 again/);
});

test("questions of both formats, with answers and passage ids", async () => {
  assert.equal(
    await questions(
      { _id: "a", text: "why?", metadata: {} },
      { id: 2, question: "who?", answers: ["me", "I"], passage_id: "p" },
    ),
    [
      { id: "a", question: "why?" },
      { id: "2", question: "who?", answers: ["me", "I"], passageId: "p" },
    ],
  );
});

test("errors in questions name file and line", async () => {
  const good = { _id: "a", text: "x" };
  await refused(questions(), /corpus\.jsonl: expected at least one question, got none/);
  await refused(
    questions(good, { id: "b" }),
    /:2: expected "text" or "question" with text, got nothing/,
  );
  await refused(
    questions(good, { id: "b", question: " " }),
    /:2: expected a question, got an empty one/,
  );
  await refused(
    questions(good, { id: "b", text: "x", answers: 7 }),
    /:2: expected "answers" as a text or a list/,
  );
  await refused(questions(good, good), /:2: expected a new id/);
});

test("the id table equals a Map while it grows", () => {
  const table = createIdTable();
  const map = new Map<string, number>();
  for (let line = 1; line <= 50_000; line++) {
    const id = `doc-${(line * 7919) % 40_000}`;
    if (!map.has(id)) map.set(id, line);
    assert.is(table.firstLine(id, line), map.get(id));
  }
});

test.run();
