import { test } from "uvu";
import * as assert from "uvu/assert";
import { Budget } from "../../../src/documents/file/budget.ts";

/** Runs `work` with a clock that only `wait` moves. */
async function withClock(work: (wait: (ms: number) => void) => Promise<void>): Promise<void> {
  const { now } = performance;
  let time = 0;
  performance.now = () => time;
  try {
    await work((ms) => {
      time += ms;
    });
  } finally {
    performance.now = now;
  }
}

/** Whether a pause lets other work run. */
async function pauses(budget: Budget): Promise<boolean> {
  let others = false;
  const immediate = setImmediate(() => {
    others = true;
  });
  await budget.pause();
  clearImmediate(immediate);
  return others;
}

test("pauses after 20 ms of reading, however short the times between passages are", () =>
  withClock(async (wait) => {
    const budget = new Budget("a.json");
    const paused: boolean[] = [];
    for (let passage = 0; passage < 8; passage++) {
      wait(6); // of reading
      paused.push(await pauses(budget));
      budget.suspend();
      wait(1_000); // others use the process
      budget.resume();
    }
    assert.equal(paused, [false, false, false, true, false, false, false, true]);
  }));

test("10 minutes of reading are too long, the time of others does not count", () =>
  withClock(async (wait) => {
    const budget = new Budget("a.json");
    budget.suspend();
    wait(3_600_000);
    budget.resume();
    wait(600_000);
    await budget.pause();
    wait(20);
    const error = await budget.pause().catch(String);
    assert.match(
      String(error),
      /a\.json: expected a document of at most 600 s of reading, got more/,
    );
  }));

test("an aborted signal ends a pause with its reason", () =>
  withClock(async (wait) => {
    const reason = new Error("stopped");
    const budget = new Budget("a.json", AbortSignal.abort(reason));
    await budget.pause();
    wait(20);
    assert.is(await budget.pause().catch((error: unknown) => error), reason);
  }));

test.run();
