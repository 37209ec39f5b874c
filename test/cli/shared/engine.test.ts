import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { engineOf } from "../../../src/cli/shared/engine.ts";
import { UsageError } from "../../../src/cli/shared/usage-error.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { isInstalled } from "../../retrieval/support.ts";
import { runCaptured } from "../support.ts";

const MODEL = "models/reatt-mini";
const folder = mkdtempSync(join(tmpdir(), "reatt-engine-"));
test.after(() => rmSync(folder, { recursive: true }));

const parse = (engine: "onnxruntime" | "faiss", values: object = {}) =>
  engineOf({ engine, ...values });

test("options name an engine", () => {
  assert.is(parse("onnxruntime"), "onnxruntime");
  assert.is(parse("faiss"), "faiss");
  const factory = { faissFactory: "IVF8,Flat", faissNprobe: 4 };
  assert.equal(parse("faiss", factory), { name: "faiss", factory: "IVF8,Flat", nprobe: 4 });
  for (const [refused, message] of [
    [
      () => parse("onnxruntime", factory),
      /^--faiss-factory is for another engine than onnxruntime$/,
    ],
    [() => parse("faiss", { faissNprobe: 4 }), /^--faiss-nprobe needs --faiss-factory STRING$/],
  ] as const)
    assert.throws(
      refused,
      (error: Error) => error instanceof UsageError && message.test(error.message),
    );
});

const index = join(folder, "index");
const questions = join(folder, "questions.jsonl");

test.before(async () => {
  const passages = ["The lion lives in Africa.", "Dogs bark at night.", "The Rhine flows north."];
  writeFileSync(questions, '{"id":"1","question":"Where does the lion live?"}\n');
  await using model = await ReAtt.load(MODEL);
  await using _ = await model.index(
    passages.map((text, i) => ({ id: `${i}`, title: "", text })),
    { directory: index },
  );
});

const reatt = (...args: string[]) => runCaptured(args);
const retrieve = (...more: string[]) =>
  reatt("retrieve", "--model", MODEL, "--index", index, "--queries", questions, "--json", ...more);

if (isInstalled("faiss-node"))
  test("faiss gives the same scores, says how far it is, and refuses in one line", async () => {
    const expected = await retrieve();
    assert.is((await retrieve("--engine", "faiss")).stdout, expected.stdout);
    const found = await retrieve("--engine", "faiss", "--faiss-factory", "HNSW8");
    assert.is(found.stdout, expected.stdout);
    assert.match(found.stderr, /^(\d+)\/\1 tokens, /);
    const refused = await retrieve("--engine", "faiss", "--faiss-factory", "IVF9999,Flat");
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /^reatt: faiss factory "IVF9999,Flat": expected [^\n]+\n$/);
  });
else test.skip("faiss on the command line: the package faiss-node is not installed");

test.run();
