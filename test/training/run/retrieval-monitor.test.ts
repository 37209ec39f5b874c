import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  bestOf,
  hasCollapsed,
  type MonitorRecord,
  measuresOf,
  outcomeOf,
} from "../../../src/training/run/retrieval-monitor.ts";

const record = (step: number, reciprocalRanks: readonly number[]): MonitorRecord => ({
  step,
  reciprocalRanks,
});
const all = (value: number, count = 20) => Array<number>(count).fill(value);

test("measures are those of ranks", () => {
  // ranks 1, 2, 5, 20, none
  assert.equal(measuresOf(record(0, [1, 1 / 2, 1 / 5, 1 / 20, 0])), {
    mrr: 1.75 / 5,
    "recall@1": 0.2,
    "recall@5": 0.6,
    "recall@20": 0.8,
  });
});

test("the best is the highest, and of equal ones the last", () => {
  assert.is(
    bestOf([record(0, [0.5]), record(5, [1]), record(10, [1]), record(15, [0.5])]).step,
    10,
  );
});

test("a clear loss is a collapse", () => {
  assert.ok(hasCollapsed([record(0, all(1)), record(5, [...all(0, 10), ...all(1, 10)])]));
  assert.ok(hasCollapsed([record(0, all(0.5)), record(5, all(0.5)), record(10, all(0.2))]));
});

test("no loss, a small loss, and one that chance explains are none", () => {
  assert.not.ok(hasCollapsed([]));
  assert.not.ok(hasCollapsed([record(0, all(1))]));
  assert.not.ok(hasCollapsed([record(0, all(0.5)), record(5, all(1))]));
  assert.not.ok(hasCollapsed([record(0, all(1)), record(5, all(0.95))]), "5 % for each question");
  const chance = [...all(0, 6), ...all(1, 4), ...all(1, 10)];
  assert.not.ok(
    hasCollapsed([record(0, [...all(1, 6), ...all(0, 4), ...all(1, 10)]), record(5, chance)]),
  );
  assert.not.ok(hasCollapsed([record(0, [1]), record(5, [0])]), "one question proves nothing");
});

test("the outcome is that of the model that was kept", () => {
  const records = [record(0, all(0.5)), record(5, all(1)), record(10, all(0.2))];
  const { before, after, step, collapsed } = outcomeOf(records);
  assert.equal([before.mrr, after.mrr, step, collapsed], [0.5, 1, 5, true]);
});

test.run();
