/** Measures of one's own: measured with dev, reported, and refused where they cannot be. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { exactMatch } from "../../../src/evaluation/answers.ts";
import { defineMeasure } from "../../../src/training/index.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLexicalModel, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const model = join(folder.path, "lexical");
await writeLexicalModel(model);
const options = { ...small, model, iterations: 1, steps: 2, objective: "retrieval" as const };

const again = defineMeasure({
  name: "again",
  of: ({ answer, answers }) => Number(exactMatch(answer, answers)),
});
const first = defineMeasure({
  name: "first",
  of: ({ passages, relevant }) => Number(relevant.includes(passages[0]!.id!)),
});

test("they see the answers and the passages, and are reported", async () => {
  const measured: Readonly<Record<string, number>>[] = [];
  const out = join(folder.path, "out");
  const { outcome } = await finish(
    train({ ...options, out, dev: small.data, measures: [again, first] }),
    (event) => {
      if (event.type === "evaluation") measured.push(event.measures);
    },
  );
  assert.is(measured.length, 2);
  for (const measures of [...measured, outcome!.before, outcome!.after]) {
    assert.is(measures["measure/again"], measures.exactMatch);
    assert.is(measures["measure/first"], measures["recall@1"]);
  }
  assert.match(await readFile(join(`${out}.run`, "metrics.csv"), "utf8"), /,measure\/first,/);
  assert.match(await readFile(join(`${out}.run`, "report.html"), "utf8"), /<th>first<\/th>/);
  assert.match(await readFile(join(out, "README.md"), "utf8"), /measure\/first/);
});

test("a value that is no share, and measures without dev, are refused", async () => {
  const wrong = defineMeasure({ name: "wrong", of: () => Number.NaN });
  for (const [i, [given, message]] of (
    [
      [
        { dev: small.data, measures: [wrong] },
        /measure wrong of ".*": expected a number from 0 to 1/,
      ],
      [
        { dev: undefined, measures: [first] },
        /measures: expected dev, whose questions are answered, got none/,
      ],
      [{ dev: small.data, measures: [first, first] }, /measures: .*different names/],
    ] as const
  ).entries()) {
    const run = train({ ...options, ...given, out: join(folder.path, `none${i}`), holdOut: false });
    const error: unknown = await finish(run).catch((reason: unknown) => reason);
    assert.match(String(error), message);
  }
  assert.throws(() => defineMeasure({ name: "two words", of: () => 1 }), /letters, digits and -/);
});

test.run();
