/** Runs of the trainer: to the end, stopped, killed, resumed, diverged. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Measures } from "../../src/evaluation/measures.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import type { TrainOptions } from "../../src/training/options/train-options.ts";
import { readMetrics } from "../../src/training/report/metrics-log.ts";
import { runFolder } from "../../src/training/run/run-folder.ts";
import { type TrainingEvent, type TrainResult, train } from "../../src/training/train.ts";
import { refused } from "../checkpoints/support.ts";
import { assertNear } from "../support/arrays.ts";
import { moduleArguments } from "../support/node-program.ts";
import {
  argumentsOf,
  temporaryFolder,
  writeLexicalModel,
  writeSmallRun,
} from "../support/training.ts";

/** Some seconds each; `KILLS=50 npx tsx test/training/train.test.ts` for a long look. */
const KILLS = Number(process.env.KILLS ?? 2);

async function finish(
  options: TrainOptions,
  onEvent: (event: TrainingEvent) => void = () => {},
): Promise<TrainResult> {
  const run = train(options);
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
    onEvent(value);
  }
}

/** What a run has made that must not depend on whether it was interrupted. */
async function outcome({ out }: TrainOptions) {
  const checkpoint = JSON.parse(
    readFileSync(join(runFolder(out), "checkpoint", "checkpoint.json"), "utf8"),
  );
  const records = await readMetrics(join(runFolder(out), "metrics.jsonl"));
  return {
    model: await loadWeights(out, await readConfig(out)),
    // parameters and moments of AdamW
    state: readFileSync(join(runFolder(out), "checkpoint", checkpoint.state)),
    checkpoint: { ...checkpoint, seconds: 0, checksum: 0 }, // which depends on the seconds
    metrics: records.map((record) => ({ ...record, seconds: 0, questionsPerSecond: 0 })),
  };
}

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const options = { ...(await writeSmallRun(folder.path)), seed: 6 };
const whole = await finish(options);
const expected = await outcome(options);

test("a run leaves a trained model, a log of every step, and a report", async () => {
  const { outcome: brought, samples, written, plan: _, verdict, seconds, ...rest } = whole;
  const { before, after, step } = brought!;
  assert.is(step, 4);
  assert.ok(samples!.length > 0);
  assert.ok(seconds! > 0);
  assert.match(verdict!, /^(no clear )?gain: .* dev questions, which chose the model too/);
  assert.equal(rest, {
    folder: options.out,
    report: join(runFolder(options.out), "report.html"),
    step: 4,
    finished: true,
    failure: undefined,
    checkpoint: 4,
    saved: 4,
  });
  const { size } = statSync(join(options.out, "model.safetensors"));
  assert.equal(written, { bytes: size, bytesBefore: size, keepsIndexes: false, notes: [] });
  const evaluated = expected.metrics.filter((record) => "exactMatch" in record);
  assert.equal(
    evaluated.map(({ step }) => step),
    [0, 2, 4],
  );
  assert.is(evaluated[0]!["recall@1" as never], before["recall@1"]);
  assert.is(evaluated[2]!["recall@1" as never], after["recall@1"]);
  assert.equal(
    expected.metrics.filter((record) => "nll" in record).map(({ step }) => step),
    [1, 2, 3, 4],
  );
  const untrained = await loadWeights(options.model, await readConfig(options.model));
  for (const [name, numbers] of expected.model)
    assert.not.equal(numbers, untrained.get(name), name);
  assert.match(readFileSync(whole.report, "utf8"), /^<!doctype html>/i);
  const card = readFileSync(join(options.out, "README.md"), "utf8");
  assert.match(
    card,
    /^---\nlibrary_name: reatt\npipeline_tag: question-answering\nbase_model: model\n/,
  );
  assert.match(card, /\| corpus \| corpus\.jsonl, 10 passages, SHA-256 [0-9a-f]{64} \|/);
  assert.match(card, "| trained on | train.jsonl, 8 questions |");
  assert.match(card, "| ended | after step 4; this is the model of step 4 |");
  assert.match(card, '\nreatt answer --model out --index INDEX "a question"\n');
  assert.match(card, "about corpus.jsonl alone");
  assert.match(card, /\| took \| \d+ min, on \d+ x .*, Node \d/);
  const shown = ({ exactMatch }: Measures) => (100 * exactMatch!).toFixed(1);
  assert.match(card, `| exactMatch |  | ${shown(before)} | ${shown(after)} |`);
  assert.match(card, "| data | train.jsonl |\n| dev | dev.jsonl |");
  assert.not.match(card, folder.path);
  const { hybrid } = await readConfig(options.out);
  const tuned = evaluated.map((record) => record["hybrid/lambda" as never]);
  assert.ok(tuned.includes(hybrid!.lambda as never), "tuned on dev");
  assert.not.ok("hybrid/recall@1" in before, "measures of the model alone");
});

test("a dry run says what would be done and writes nothing", async () => {
  const events: TrainingEvent[] = [];
  const before = readdirSync(folder.path);
  const out = join(folder.path, "dry");
  const result = await finish({ ...options, out, dryRun: true }, (event) => events.push(event));
  const { plan } = result;
  assert.equal(readdirSync(folder.path), before);
  assert.equal(events.at(-1), { type: "plan", plan });
  assert.equal([result.finished, result.step, existsSync(result.report)], [false, 0, false]);
  assert.equal([plan.passages, plan.iterations, plan.steps], [10, 2, 2]);
  assert.equal(plan.sources, [{ name: "questions", examples: 8 }]);
  const dev = readFileSync(options.dev!, "utf8").trim().split("\n").length;
  assert.equal(plan.measured, {
    what: "dev questions",
    questions: dev,
    passages: 10,
    answered: dev,
  });
  assert.equal(plan.enough, { steps: 50, minutes: undefined });
  assert.ok(plan.seconds > 0 && plan.memoryBytes > 0 && plan.diskBytes > 0);
  assert.is(plan.samples.length, 5);
  const unmeasured = await finish({
    ...{ ...options, out, dryRun: true },
    ...{ dev: undefined, holdOut: false },
  });
  assert.is(unmeasured.plan.measured, undefined);
  assert.is(unmeasured.plan.unmeasured, "no questions are held out");
});

test("a time limit chooses the number of steps, with and without dev, and corrects it", async () => {
  const { steps: _, ...timed } = { ...options, iterations: 1 };
  for (const dev of [options.dev, undefined]) {
    const out = join(folder.path, `timed-${dev !== undefined}`);
    const stop = new AbortController();
    const planned: number[] = [];
    await finish(
      { ...timed, dev, holdOut: false, out, minutes: 60, signal: stop.signal },
      (event) => {
        if (event.type !== "step") return;
        planned.push(event.steps);
        if (planned.length === 7) stop.abort();
      },
    );
    assert.ok(planned.at(-1)! !== planned[0]!, planned.join(" "));
  }
  const out = join(folder.path, "no-time");
  const none = await finish({ ...timed, out, minutes: 0.001 });
  assert.equal([none.finished, none.step, none.outcome!.step], [true, 0, 0]);
  assert.equal(
    readFileSync(join(out, "config.json")),
    readFileSync(join(options.model, "config.json")),
  );
});

test("where training only loses on dev, the given model is kept, byte for byte", async () => {
  const model = join(folder.path, "lexical");
  await writeLexicalModel(model);
  const out = join(folder.path, "lost");
  const { outcome: brought } = await finish({
    ...options,
    ...{ model, out, iterations: 1, steps: 6, objective: "retrieval", learningRate: 3 },
    dev: options.data,
  });
  assert.equal([brought!.step, brought!.kept], [0, "start"]);
  assert.equal(brought!.after, brought!.before);
  for (const name of ["model.safetensors", "config.json", "spiece.model"])
    assert.ok(readFileSync(join(out, name)).equals(readFileSync(join(model, name))), name);
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(card, /\| verdict \| no gain, model unchanged: R@1 \d of 8 dev questions/);
  assert.match(card, "| ended | after step 6; this is the model of step 0 |");
  assert.match(card, "The weights of lexical, unchanged: ");
});

test("a run that is stopped after any step ends as if it had not been", async () => {
  const resumed = { ...options, out: join(folder.path, "stopped"), resume: true };
  for (let step = 1; step <= 4; step++) {
    const stop = new AbortController();
    const stopped = await finish({ ...resumed, signal: stop.signal }, (event) => {
      if (event.type === "step" && event.step === step) stop.abort();
    });
    assert.is(stopped.step, step);
    assert.is(stopped.finished, step === 4);
    assert.ok(
      [0, 2, 4].includes(stopped.saved!) && stopped.saved! <= step,
      "a model that was measured",
    );
  }
  // what a process began to write when it was killed
  const begun = join(runFolder(resumed.out), "checkpoint", "state-000004.safetensors.new");
  writeFileSync(begun, "");
  assert.equal((await finish(resumed)).outcome, whole.outcome);
  assert.equal(await outcome(resumed), expected);
  assert.not(existsSync(begun));
});

test(`a run that is killed ${KILLS} times at random moments ends as if it had not been`, async () => {
  const resumed = { ...options, out: join(folder.path, "killed"), resume: true };
  const duration = await timeOf(startProcess({ ...options, out: join(folder.path, "timed") }));
  for (let kill = 0; kill < KILLS; kill++) {
    const child = startProcess(resumed);
    const exit = once(child, "exit");
    await sleep(duration * Math.random());
    child.kill("SIGKILL");
    await exit;
  }
  await finish(resumed);
  assert.equal(await outcome(resumed), expected);
});

function startProcess({ signal: _, resume, ...rest }: TrainOptions) {
  const args = [
    ...moduleArguments("src/cli/main.ts"),
    "train",
    ...argumentsOf(rest),
    ...(resume ? ["--resume"] : []),
  ];
  return spawn(process.execPath, args, { stdio: "ignore" });
}

async function timeOf(child: ReturnType<typeof spawn>): Promise<number> {
  const start = performance.now();
  assert.equal(await once(child, "exit"), [0, null]);
  return performance.now() - start;
}

test("a run that was killed while its evaluation was being saved evaluates again, and logs it once", async () => {
  const resumed = { ...options, out: join(folder.path, "evaluated"), resume: true };
  let checkpoints = 0;
  // Left between the evaluation of the first iteration and the checkpoint after it.
  for await (const event of train(resumed)) {
    if (event.type === "checkpoint") checkpoints++;
    if (event.type === "evaluation" && checkpoints > 0) break;
  }
  await finish(resumed);
  assert.equal(await outcome(resumed), expected);
});

for (const [name, other, message] of [
  [
    "data",
    (file: string) => appendFileSync(file, '{"id":"new","question":"Why?","answers":["So."]}\n'),
    /expected the training data that the run began with, got another/,
  ],
  [
    "corpus",
    (file: string) => appendFileSync(file, '{"id":"new","title":"","text":"New."}\n'),
    /expected the corpus that the run began with, got another/,
  ],
] as const)
  test(`resuming with another ${name} is refused, and nothing is lost`, async () => {
    const file = join(folder.path, `other-${name}.jsonl`);
    writeFileSync(file, readFileSync(options[name]));
    other(file);
    await refused(finish({ ...options, [name]: file, resume: true }), message);
    assert.equal(await outcome(options), expected);
  });

test("a corpus that changes under a run stops it; put back, the run goes on", async () => {
  const corpus = join(folder.path, "changing.jsonl");
  const text = readFileSync(options.corpus);
  writeFileSync(corpus, text);
  const changing = {
    ...options,
    corpus,
    out: join(folder.path, "changing"),
    ...{ dev: undefined, holdOut: false },
    steps: 1,
  };
  const run = finish(changing, (event) => {
    if (event.type === "step") appendFileSync(corpus, '{"id":"new","title":"","text":"New."}\n');
  });
  await refused(
    run,
    /changing\.jsonl: expected the corpus that the run began with, got another one/,
  );
  writeFileSync(corpus, text);
  assert.is((await finish({ ...changing, resume: true })).step, 2);
});

for (const [name, value] of Object.entries({
  steps: 3,
  questions: 2,
  seed: 7,
  alpha: 1,
  learningRate: 0.5,
}))
  test(`resuming with other ${name} is refused`, () =>
    refused(
      finish({ ...options, [name]: value, resume: true }),
      new RegExp(`${name}: expected .*, as the run began with, got ${value}`),
    ));

for (const [what, short, longer] of [
  ["more steps", { iterations: 1, steps: 2 }, { steps: 4 }],
  ["another iteration", { iterations: 1 }, { iterations: 2 }],
] as const)
  test(`a finished run goes on for ${what}, and a stop changes nothing`, async () => {
    const names = ["whole", "parts"].map((name) => join(folder.path, `${name} ${what}`));
    const rates: number[] = [];
    for (const [i, out] of names.entries()) {
      await finish({ ...options, ...short, out });
      if (i > 0) {
        const stop = new AbortController();
        const { checkpointBytes } = await finish(
          { out, resume: true, ...longer, signal: stop.signal },
          (event) => event.type === "step" && stop.abort(),
        );
        assert.ok(checkpointBytes! > statSync(join(out, "model.safetensors")).size);
      }
      const last = await finish({ out, resume: true, ...(i === 0 ? longer : {}) }, (event) => {
        if (event.type === "step") rates.push(event.learningRate);
      });
      assert.equal([last.finished, last.step], [true, 4]);
    }
    const [whole, parts] = await Promise.all(names.map((out) => outcome({ ...options, out })));
    assert.equal(parts, whole);
    // one warm-up step; then the rates of a run of so many steps
    const peak = options.learningRate!;
    const expected = what === "more steps" ? [2 / 4, 1 / 4] : [1, 1 / 2];
    assertNear(
      rates.slice(0, 2),
      expected.map((share) => peak * share),
      1e-9,
    );
  });

test("a run is not made shorter, and not longer within its iterations", async () => {
  const out = join(folder.path, "whole more steps");
  await refused(finish({ out, resume: true, steps: 3 }), /steps: expected 4, as the run began/);
  await refused(
    finish({ ...options, steps: 9, resume: true }),
    /steps: expected 2, as the run began with, got 9/,
  );
});

test("a folder that holds a run is not overwritten unasked", () =>
  refused(finish(options), /expected a folder without a run, got one that stopped after step 4/));

test("a loss that is not finite stops the run, naming the step and the checkpoint", async () => {
  const diverging = { ...options, out: join(folder.path, "diverged"), learningRate: 1e30 };
  await refused(
    finish(diverging),
    /expected a finite loss and gradient, got a loss of \S+ and a gradient of norm \S+ at step 2; .*there is no checkpoint yet/,
  );
  const stop = new AbortController();
  const later = { ...options, out: join(folder.path, "later"), learningRate: 1e30, resume: true };
  await finish({ ...later, signal: stop.signal }, (event) => {
    if (event.type === "step") stop.abort();
  });
  await refused(
    finish(later),
    /at step 2; .*the checkpoint of step 1 is in .*later\.run\/checkpoint/,
  );
  assert.ok(existsSync(join(runFolder(later.out), "checkpoint", "state-000001.safetensors")));
});

test.run();
