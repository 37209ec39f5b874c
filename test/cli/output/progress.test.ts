import { test } from "uvu";
import * as assert from "uvu/assert";
import { startBuildProgress } from "../../../src/cli/output/build-progress.ts";
import { duration, startProgress, withProgress } from "../../../src/cli/output/progress.ts";
import { captureOutput } from "../support.ts";

/** What is written to stderr while `work` runs; `clock` sets the time in milliseconds. */
async function stderrOf(work: (clock: (milliseconds: number) => void) => unknown): Promise<string> {
  const { now } = performance;
  let time = 0;
  performance.now = () => time;
  const { stderr } = await captureOutput(() =>
    work((milliseconds) => {
      time = milliseconds;
    }),
  ).finally(() => {
    performance.now = now;
  });
  return stderr;
}

test("a line after the first second, then one in ten seconds, and the last", async () => {
  const written = await stderrOf((clock) => {
    const progress = startProgress("passages", 1000);
    for (let done = 50; done <= 1000; done += 50) {
      clock(done * 20);
      progress.update(done);
    }
    progress.stop();
  });
  assert.is(
    written,
    "50/1000 passages, 50/s, 0:19 left\n550/1000 passages, 50/s, 0:09 left\n1000/1000 passages, 50/s, 0:00 left\n",
  );
});

test("work that a first report ends has the rate since its beginning, and one line", async () => {
  const written = await stderrOf((clock) => {
    clock(2000);
    const progress = startProgress("passages", 10, 0);
    progress.update(10);
    progress.update(10);
    progress.stop();
  });
  assert.is(written, "10/10 passages, 5.0/s, 0:00 left\n");
});

test("while a codebook is learned, the last line says so", async () => {
  const written = await stderrOf((clock) => {
    const { report, stop } = startBuildProgress(10, 0);
    clock(2000);
    report({ event: "encoded", passages: 10, tokens: 50 });
    report({ event: "compressed", passages: 0, tokens: 50 });
    clock(4000);
    report({ event: "encoded", passages: 10, tokens: 50 }); // an import into a store
    stop();
  });
  assert.is(
    written,
    "10/10 passages, 5.0/s, 0:00 left\nlearning a codebook …\n10/10 passages, 2.5/s, 0:00 left\n",
  );
});

test("what was done before does not count for the rate", async () => {
  const written = await stderrOf((clock) => {
    const progress = startProgress("passages", 1000);
    progress.resume(800);
    clock(2000);
    progress.update(810);
    progress.stop();
  });
  assert.is(written, "810/1000 passages, 5.0/s, 0:38 left\n");
});

test("results pass through in order, and one alone needs no progress", async () => {
  async function* numbers(count: number): AsyncGenerator<number> {
    for (let i = 1; i <= count; i++) yield i;
  }
  const seen: number[] = [];
  const written = await stderrOf(async (clock) => {
    for await (const number of withProgress("questions", 1, numbers(1), true)) seen.push(number);
    for await (const number of withProgress("questions", 3, numbers(3), true)) {
      seen.push(number);
      clock(number * 1000);
    }
  });
  assert.equal(seen, [1, 1, 2, 3]);
  assert.is(written, "1/3 questions, 1.0/s, 0:02 left\n3/3 questions, 1.0/s, 0:00 left\n");
});

test("durations are written as clocks write them", () => {
  assert.equal([0, 59.6, 65, 3725, Number.NaN, Infinity].map(duration), [
    "0:00",
    "1:00",
    "1:05",
    "1:02:05",
    "?",
    "?",
  ]);
});

test.run();
