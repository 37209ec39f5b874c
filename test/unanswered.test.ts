/** Questions that no block answers: kept in a local file, if the owner wants that. */

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readQuestions } from "../src/text/read-passages.ts";
import { send, startTestServer } from "./server/support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-unanswered-"));
const at = (name: string): string => join(folder, name);
const server = await startTestServer({ unansweredFile: at("served.jsonl") });
const { model, index } = server;
test.after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const QUESTIONS = ["Who patented a steam engine?", "Where does the Rhine flow?"];
const textsIn = async (file: string): Promise<string[]> =>
  (await readQuestions(file)).map(({ question }) => question);

test("only questions without an answer and without a probable block are kept", async () => {
  const unansweredFile = at("asked.jsonl");
  const none = { minimumConfidence: 1, unansweredFile };
  await model.answer(QUESTIONS[0]!, index, { minimumConfidence: 0, unansweredFile });
  assert.throws(() => statSync(unansweredFile), /ENOENT/);
  for await (const reply of model.answer([...QUESTIONS, "x ".repeat(2_000)], index, none))
    assert.ok(reply.abstained || reply.error);
  await model.answer(QUESTIONS[0]!, index, none);
  assert.equal(await textsIn(unansweredFile), [...QUESTIONS, QUESTIONS[0]]);
  const [line] = readFileSync(unansweredFile, "utf8").split("\n");
  assert.equal(Object.keys(JSON.parse(line!)), ["question", "time"]);
  assert.ok(Math.abs(Date.parse(JSON.parse(line!).time) - Date.now()) < 3_600_000);
  if (process.platform !== "win32") assert.is(statSync(unansweredFile).mode & 0o777, 0o600);
});

test("a file that cannot be written costs a warning, and not the reply", async () => {
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
  try {
    const none = { minimumConfidence: 1, unansweredFile: at("no/folder/asked.jsonl") };
    assert.ok((await model.answer(QUESTIONS[0]!, index, none)).abstained);
  } finally {
    process.emitWarning = emitWarning;
  }
  assert.is(warnings.length, 1);
  assert.match(warnings[0]!, /a question without an answer was not recorded: .*asked\.jsonl/);
});

test("a server keeps them in the file of its owner; a request cannot name one", async () => {
  const url = `${server.url}/v1/answer`;
  const body = { question: QUESTIONS[1], minimumConfidence: 1 };
  assert.is((await send(url, { question: QUESTIONS[0], minimumConfidence: 0 })).status, 200);
  assert.is((await send(url, body)).status, 200);
  assert.equal(await textsIn(at("served.jsonl")), [QUESTIONS[1]]);
  assert.is((await send(url, { ...body, unansweredFile: at("other.jsonl") })).status, 400);
  assert.not.match(JSON.stringify(server.lines), /Rhine/);
});

test.run();
