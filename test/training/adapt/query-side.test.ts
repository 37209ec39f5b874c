/** Only questions move: what an index holds stays as it is, bit for bit. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../src/reatt.ts";
import { readPassages } from "../../../src/text/corpus.ts";
import { adapt } from "../../../src/training/adapt/adapt.ts";
import { loadWeights } from "../../../src/weights/load.ts";
import { finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { writeTinyModel } from "../../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-query-side-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

test("one head's query projection changes, and an index made before serves on", async () => {
  const { corpus, data } = writeAdaptationFiles(folder);
  mkdirSync(at("model"));
  const config = await writeTinyModel(at("model"));
  await using base = await ReAtt.load(at("model"));
  await using _ = await base.index(readPassages(corpus), { directory: at("index") });

  const options = { model: at("model"), corpus, data, out: at("out"), querySide: true };
  const small = { steps: 3, questions: 4, closePassages: 2, probeSteps: 3, learningRate: 0.01 };
  const result = await finish(adapt({ ...options, ...small, dev: data, iterations: 1 }));
  assert.is(result.index, undefined);

  const [before, after] = await Promise.all([
    loadWeights(at("model"), config),
    loadWeights(at("out", "checkpoint", "probe"), config), // the model after the last step, the best or not
  ]);
  const query = `encoder.block.${config.retrievalLayer}.layer.0.SelfAttention.q.weight`;
  for (const [name, numbers] of before) {
    const now = after.get(name)!;
    const changed = numbers.findIndex((number, i) => number !== now[i]);
    if (name !== query) assert.is(changed, -1, name);
  }
  const rows = config.headSize * config.modelSize;
  const changedHeads = Array.from({ length: config.heads }, (_, head) => head).filter((head) => {
    const of = (weights: Map<string, Float32Array>) =>
      weights.get(query)!.subarray(head * rows, (head + 1) * rows);
    return of(before).some((number, i) => number !== of(after)[i]);
  });
  assert.equal(changedHeads, [config.retrievalHead]);

  await using adapted = await ReAtt.load(at("out", "checkpoint", "probe"));
  assert.is(adapted.fingerprint, base.fingerprint);
  await using index = await adapted.openIndex(at("index"));
  const question = "who opened the harbour of Oslo?";
  const [was, is] = [await base.retrieve(question, index), await adapted.retrieve(question, index)];
  assert.is(is.length, was.length);
  assert.not.equal(
    is.map(({ score }) => score),
    was.map(({ score }) => score),
  );
});

test.run();
