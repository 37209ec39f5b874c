/** An adaptation that is killed, and one that is interrupted. */

import { spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../src/math/random.ts";
import { adapt } from "../../src/training/adapt.ts";
import { defineSource } from "../../src/training/examples/sources/source.ts";
import { finish, writeAdaptationFiles } from "../support/adaptation.ts";
import { moduleArguments } from "../support/node-program.ts";
import { argumentsOf, writeTinyModel } from "../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-adapt-resume-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);
const files = writeAdaptationFiles(folder);
const model = at("model");
mkdirSync(model);
await writeTinyModel(model);
const SMALL = { iterations: 2, steps: 3, questions: 2, candidatesPerQuestion: 2, monitorSteps: 3 };
const SHORT = { ...SMALL, iterations: 1, steps: 2, index: false };
const modelBytes = (path: string): Buffer => readFileSync(join(path, "model.safetensors"));

test("killed and resumed, it ends with the same parameters, bit for bit", async () => {
  const weights = { spans: 2, labels: 0.5 };
  const mixed = { ...files, sources: ["spans"] as const, weights, model, ...SMALL };
  const code = await killAtStep(5, argumentsOf({ ...mixed, out: at("killed") }));
  assert.is(code, "SIGKILL");
  assert.not.ok(existsSync(at("killed", "README.md")));
  const keepCheckpoint = true;
  const again = { out: at("killed"), resume: true, keepCheckpoint };
  const resumed = await finish(adapt(again));
  const whole = await finish(
    adapt({ ...mixed, sources: ["spans"], keepCheckpoint, out: at("whole") }),
  );
  assert.equal([resumed.training!.step, whole.training!.step], [6, 6]);
  assert.equal(resumed.training!.outcome, whole.training!.outcome);
  const state = join("checkpoint", "state-000006.safetensors");
  assert.ok(readFileSync(at("killed.run", state)).equals(readFileSync(at("whole.run", state))));
  assert.ok(modelBytes(at("killed")).equals(modelBytes(at("whole"))));
});

/** Kills `reatt adapt` once it said that it took a step, and returns what ended it. */
function killAtStep(step: number, args: readonly string[]): Promise<string | number | null> {
  const child = spawn(
    process.execPath,
    [...moduleArguments("src/cli/main.ts"), "adapt", "--json", ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  createInterface(child.stdout).on("line", (line) => {
    const event = JSON.parse(line);
    if (event.type === "step" && event.step === step) child.kill("SIGKILL");
  });
  return new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
}

test("resumed with other options than it began with: the error names those that differ", async () => {
  const began = { model, ...files, ...SMALL, seed: 3, out: at("forgotten") };
  const abort = new AbortController();
  await finish(adapt({ ...began, signal: abort.signal }), (event) => {
    if (event.type === "step") abort.abort();
  });
  const events: string[] = [];
  const resumed = finish(
    adapt({ out: began.out, steps: 4, seed: 5, resume: true }),
    ({ type }) => void events.push(type),
  );
  const error = await resumed.then(
    () => undefined,
    (reason: Error) => reason,
  );
  assert.match(
    String(error?.message),
    /forgotten: expected steps 3, seed 3, as the run began with, got steps 4, seed 5/,
  );
  assert.not.ok(events.includes("plan")); // it fails before the long work
});

test("with a source of one's own it is resumed with the source, and refused without it", async () => {
  const reversed = defineSource({
    name: "reversed",
    relevant: "the passage of the words",
    stage: "reversing words",
    draws: 1.5,
    async *examples(passages, { wanted, seed }) {
      const random = createRandom(seed, "reversed");
      let made = 0;
      for await (const { id, text } of passages.passages()) {
        if (made++ === wanted) return;
        const words = random.shuffle(text.split(" ")).slice(0, 5);
        yield { relevant: [id], answers: [], id, question: words.join(" ") }; // any order of fields
      }
    },
  });
  const { corpus } = files;
  const options = { model, corpus, ...SMALL, sources: ["crops", reversed] as const };
  const abort = new AbortController();
  const own = { ...options, sources: [...options.sources], out: at("own") };
  await finish(adapt({ ...own, signal: abort.signal }), (event) => {
    if (event.type === "step" && event.step === 2) abort.abort();
  });
  const error = await finish(adapt({ out: own.out, resume: true })).catch((e: Error) => e);
  assert.match(
    String(error),
    /got "reversed"; .* give a source of your own itself, also to resume/,
  );
  const resumed = await finish(adapt({ out: own.out, resume: true, sources: own.sources }));
  assert.ok(resumed.training!.finished);
  const whole = await finish(adapt({ ...own, out: at("own whole") }));
  assert.equal(resumed.training!.outcome, whole.training!.outcome);
  assert.ok(modelBytes(own.out).equals(modelBytes(at("own whole"))));
});

for (const [title, sources, names] of [
  ["documents alone", undefined, []],
  ["spans", ["spans"], []],
  ["crops", ["crops"], []],
  ["titles", ["titles"], []],
  ["questions", undefined, ["data"]],
  ["labels", undefined, ["queries", "qrels"]],
] as const)
  test(`${title}: stopped and resumed by its folder, it ends as if it had not been`, async () => {
    const given = names.map((name) => [name, files[name]] as const);
    const source = sources && { sources: [...sources] };
    const options = {
      model,
      corpus: files.corpus,
      ...SHORT,
      ...source,
      ...Object.fromEntries(given),
    };
    const [stopped, whole] = [at(`stopped ${title}`), at(`whole ${title}`)];
    const abort = new AbortController();
    await finish(adapt({ ...options, out: stopped, signal: abort.signal }), (event) => {
      if (event.type === "step" && event.step === 1) abort.abort();
    });
    const stages: string[] = [];
    const resumed = await finish(adapt({ out: stopped, resume: true }), (event) => {
      if (event.type === "stage") stages.push(event.name);
    });
    assert.ok(stages.includes("continuing after step 1 of 2"), stages.join(", "));
    const straight = await finish(adapt({ ...options, out: whole }));
    assert.equal([resumed.training!.step, straight.training!.step], [2, 2]);
    assert.equal(resumed.training!.outcome, straight.training!.outcome);
    assert.ok(modelBytes(stopped).equals(modelBytes(whole)));
  });

for (const [name, flag] of [
  ["questions", "data"],
  ["labels", "qrels"],
] as const)
  test(`resumed with other ${name}, the error names the source and its file`, async () => {
    const copy = at(`other-${name}`);
    const all = { ...files, [flag]: copy };
    const { data, queries, qrels } = all;
    const sources = name === "questions" ? { data } : { queries, qrels };
    copyFileSync(files[flag], copy);
    const options = {
      model,
      corpus: files.corpus,
      ...SHORT,
      ...sources,
      out: at(`changed ${name}`),
    };
    const abort = new AbortController();
    await finish(adapt({ ...options, signal: abort.signal }), (event) => {
      if (event.type === "step") abort.abort();
    });
    const lines = readFileSync(copy, "utf8").split("\n");
    writeFileSync(copy, [...lines.slice(0, 4), ...lines.slice(5)].join("\n"));
    const error = await finish(adapt({ out: options.out, resume: true })).catch((e: Error) => e);
    assert.match(
      String(error),
      new RegExp(`other-${name}, ${name}: expected the training data that the run began with`),
    );
  });

test("interrupted, it keeps a checkpoint and has no card yet", async () => {
  const abort = new AbortController();
  const options = { model, ...files, ...SMALL, out: at("interrupted") };
  const first = await finish(adapt({ ...options, signal: abort.signal }), (event) => {
    if (event.type === "step" && event.step === 3) abort.abort();
  });
  assert.equal(
    [first.training!.finished, first.training!.step, first.index],
    [false, 3, undefined],
  );
  assert.not.ok(existsSync(at("interrupted", "README.md")));
});

test.run();
