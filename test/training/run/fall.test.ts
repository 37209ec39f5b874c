import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasFallen, isExhausted, reductionAfter } from "../../../src/training/run/fall.ts";
import type { MonitorRecord } from "../../../src/training/run/retrieval-monitor.ts";
import type { ScheduleChange } from "../../../src/training/run/schedule.ts";

const record = (step: number, reciprocalRanks: readonly number[]): MonitorRecord => ({
  step,
  reciprocalRanks,
  hybrid: { reciprocalRanks, weights: { lambda: 1, k1: 0.9, b: 0.4 } },
});
const all = (value: number, count = 20) => Array<number>(count).fill(value);

test("a clear loss against the best record is a fall", () => {
  assert.ok(hasFallen([record(0, all(1)), record(5, [...all(0, 10), ...all(1, 10)])]));
  const rising = [record(0, all(0.5)), record(5, all(1)), record(10, all(0.6))];
  assert.ok(hasFallen(rising), "above the first, but below the best");
});

test("no loss, and one that chance explains, are none", () => {
  assert.not.ok(hasFallen([]));
  assert.not.ok(hasFallen([record(0, all(1))]));
  assert.not.ok(hasFallen([record(0, all(0.5)), record(5, all(1))]));
  // Six questions are lost and five won: a mean loss of 0.05 with a standard error of 0.17.
  const [before, after] = [
    [...all(1, 6), ...all(0, 5), ...all(1, 9)],
    [...all(0, 6), ...all(1, 5), ...all(1, 9)],
  ];
  assert.not.ok(hasFallen([record(0, before), record(5, after)]));
  // Eight are lost and four won: a mean loss of 0.2 with a standard error of 0.17.
  const lost = [...all(1, 8), ...all(0, 4), ...all(1, 8)];
  const won = [...all(0, 8), ...all(1, 4), ...all(1, 8)];
  assert.not.ok(hasFallen([record(0, lost), record(5, won)]));
  assert.not.ok(hasFallen([record(0, [1]), record(5, [0])]), "one question proves nothing");
});

test("a fall is followed by the weights of the best step, three times", () => {
  const fallen = (step: number) => record(step, all(0.2));
  const records = [record(0, all(0.5)), record(5, all(1))];
  const changes: ScheduleChange[] = [{ step: 0, last: 99 }];
  for (const step of [10, 15, 20]) {
    records.push(fallen(step));
    assert.not.ok(isExhausted(records, changes));
    const reduction = reductionAfter(records, changes);
    assert.equal(reduction, { step, restored: 5 });
    changes.push(reduction!);
    assert.not.ok(isExhausted(records, changes), "the reduction is still to be tried");
  }
  records.push(fallen(25));
  assert.is(reductionAfter(records, changes), undefined);
  assert.ok(isExhausted(records, changes));
});

test("a better model has reductions of its own", () => {
  const changes = [5, 10, 15].map((step) => ({ step, restored: 0 }));
  const records = [record(0, all(0.5)), record(20, all(1)), record(25, all(0.5))];
  assert.equal(reductionAfter(records, changes), { step: 25, restored: 20 });
});

test.run();
