/** The record of a training: its folder alone resumes it. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = { ...(await writeSmallRun(folder.path)), iterations: 1, steps: 3 };
const outOf = (name: string): string => join(folder.path, name);

test("a stopped training goes on by its folder alone, with the same bits", async () => {
  const [out, whole] = [outOf("stopped"), outOf("whole")];
  const stop = new AbortController();
  await finish(train({ ...small, out, signal: stop.signal }), (event) => {
    if (event.type === "step") stop.abort();
  });
  const record = JSON.parse(readFileSync(join(`${out}.run`, "training.json"), "utf8"));
  assert.equal(
    [record.format, record.options.steps, record.options.data],
    ["reatt-training", 3, "../train.jsonl"],
  );
  assert.not("out" in record.options || "resume" in record.options);
  const { step, finished } = await finish(train({ out, resume: true }));
  assert.equal([step, finished], [3, true]);
  await finish(train({ ...small, out: whole }));
  const weightsOf = (name: string) => readFileSync(join(name, "model.safetensors"));
  assert.ok(weightsOf(out).equals(weightsOf(whole)));
});

test("a folder without a run, and a damaged record, are one line", async () => {
  const messageOf = async (out: string): Promise<string> =>
    finish(train({ out, resume: true })).then(String, (error: Error) => error.message);
  assert.is(
    await messageOf(outOf("none")),
    "corpus: expected a path as text, got nothing; add it: out has no run to resume",
  );
  const out = outOf("stopped");
  writeFileSync(join(`${out}.run`, "training.json"), "{}");
  assert.match(await messageOf(out), /training\.json: expected the record of a run/);
});

test.run();
