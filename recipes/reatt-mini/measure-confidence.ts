/**
 * Measures the confidence that a model gives, on a collection that nothing was fitted on: with
 * questions that its index answers, and as many that it does not (asked.ts).
 *
 *     npx tsx recipes/reatt-mini/measure-confidence.ts --collection DIR/NAME [--every N]
 *
 * DIR has NAME-corpus.jsonl and NAME.jsonl. Prints a row for each kind of questions, and the
 * measures of all together.
 */

import { basename, dirname } from "node:path";
import { parseArgs } from "node:util";
import { calibrationReport } from "../../src/evaluation/calibration-report.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { type Asked, asked, type Condition } from "./asked.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    collection: { type: "string" },
    every: { type: "string", default: "1" },
    /** Keeps the index and what was asked of one model. */
    work: { type: "string", default: "runs/reatt-mini/confidence" },
  },
});

const CONDITIONS: readonly Condition[] = ["answerable", "other subject", "near passages"];
const percent = (share: number): string => (100 * share).toFixed(1);
const share = (some: readonly unknown[], all: readonly unknown[]): string =>
  `${some.length} of ${all.length}${all.length > 0 ? ` (${percent(some.length / all.length)} %)` : ""}`;

/** Of the confidence as a sign that the index has an answer. */
const aurocOf = (asked: readonly Asked[]): number =>
  calibrationReport(
    asked.map(({ confidence, condition }) => ({ confidence, correct: condition === "answerable" })),
  ).auroc!;

function print(all: readonly Asked[], threshold: number): void {
  const isAbstained = ({ confidence }: Asked): boolean => confidence < threshold;
  for (const condition of CONDITIONS) {
    const own = all.filter((one) => one.condition === condition);
    if (own.length === 0) continue;
    console.log(`${condition}: no answer ${share(own.filter(isAbstained), own)}`);
  }
  const answerable = all.filter(({ condition }) => condition === "answerable");
  const right = answerable.filter(({ correct }) => correct);
  console.log(
    `right: ${share(right, answerable)}, lost: ${share(right.filter(isAbstained), right)}`,
  );
  for (const condition of CONDITIONS.slice(1)) {
    const without = all.filter((one) => one.condition === condition);
    if (without.length > 0)
      console.log(`AUROC against ${condition}: ${aurocOf([...answerable, ...without]).toFixed(3)}`);
  }
  for (const [name, asked] of [
    ["all questions", all],
    ["answerable questions", answerable],
  ] as const) {
    const { ece, coverageAt80, accuracy, meanConfidence } = calibrationReport(asked);
    console.log(
      `${name}: right ${percent(accuracy)} %, mean confidence ${percent(meanConfidence)} %, ` +
        `ECE ${percent(ece)} points, coverage at 80 % accuracy ${percent(coverageAt80)} %`,
    );
  }
}

if (values.collection === undefined) throw new Error("--collection DIR/NAME is missing");
const { calibration } = await readConfig(values.model);
const all = await asked({
  ...{ model: values.model, heldOut: dirname(values.collection), work: values.work },
  ...{ sets: [basename(values.collection)], every: Number(values.every) },
});
print(all, calibration?.threshold ?? 0);
