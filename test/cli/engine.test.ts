import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { parseEngine } from "../../src/cli/engine.ts";
import { UsageError } from "../../src/cli/options.ts";
import { retrieveCommand } from "../../src/cli/retrieve.ts";
import { ReAtt } from "../../src/reatt.ts";
import { isInstalled } from "../retrieval/support.ts";
import { runCaptured } from "./support.ts";

const MODEL = "models/reatt-mini";
const folder = mkdtempSync(join(tmpdir(), "reatt-engine-"));
test.after(() => rmSync(folder, { recursive: true }));

const parse = (engine: "onnxruntime" | "faiss", factory?: string, nprobe?: number) =>
  parseEngine({ engine, "faiss-factory": factory, "faiss-nprobe": nprobe });

test("options name an engine", () => {
  assert.is(parse("onnxruntime"), "onnxruntime");
  assert.is(parse("faiss"), "faiss");
  assert.equal(parse("faiss", "IVF8,Flat", 4), { name: "faiss", factory: "IVF8,Flat", nprobe: 4 });
  for (const refused of [
    () => parse("onnxruntime", "IVF8,Flat"),
    () => parse("onnxruntime", undefined, 4),
    () => parse("faiss", undefined, 4),
  ])
    assert.throws(
      refused,
      (error: Error) => error instanceof UsageError && /--faiss-nprobe/.test(error.message),
    );
});

if (isInstalled("faiss-node"))
  test("retrieve with another engine says how far it is, and gives the same scores", async () => {
    const index = join(folder, "index");
    const questions = join(folder, "questions.jsonl");
    const passages = ["The lion lives in Africa.", "Dogs bark at night.", "The Rhine flows north."];
    writeFileSync(questions, '{"id":"1","question":"Where does the lion live?"}\n');
    await using model = await ReAtt.load(MODEL);
    await using _ = await model.index(
      passages.map((text, i) => ({ id: `${i}`, title: "", text })),
      { directory: index },
    );
    const retrieve = (...more: string[]) =>
      runCaptured(
        [retrieveCommand],
        ["retrieve", "--model", MODEL, "--index", index, "--queries", questions, "--json", ...more],
      );
    const expected = await retrieve();
    assert.is((await retrieve("--engine", "faiss")).stdout, expected.stdout);
    const found = await retrieve("--engine", "faiss", "--faiss-factory", "HNSW8");
    assert.is(found.stdout, expected.stdout);
    assert.match(found.stderr, /^(\d+)\/\1 tokens, /);
    const refused = await retrieve("--engine", "faiss", "--faiss-factory", "IVF9999,Flat");
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /^reatt: faiss factory "IVF9999,Flat": expected [^\n]+\n$/);
  });
else test("faiss on the command line: SKIPPED, the package faiss-node is not installed", () => {});

test.run();
