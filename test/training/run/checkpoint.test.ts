import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { type ParameterState, parameterState } from "../../../src/training/engine/optimizer.ts";
import {
  checkPlan,
  findCheckpoint,
  type RunCheckpoint,
  restoreCheckpoint,
  writeCheckpoint,
} from "../../../src/training/run/checkpoint.ts";
import { refused } from "../../checkpoints/support.ts";
import { drawn } from "../../support/draws.ts";
import { temporaryFolder } from "../../support/training.ts";

const SHAPES: Readonly<Record<string, readonly number[]>> = { "a.weight": [3, 2], log_scale: [] };

/** Random numbers in every part, or zeros. */
function states(seed?: string): Map<string, ParameterState> {
  return new Map(
    Object.entries(SHAPES).map(([name, shape]) => {
      const state = parameterState(shape, new Float32Array(drawn(shape).data.length));
      if (seed !== undefined)
        for (const part of ["value", "firstMoment", "secondMoment"] as const)
          state[part].set(drawn(shape, -1, 1, `${seed} ${name} ${part}`).data);
      return [name, state];
    }),
  );
}

const progress = {
  plan: { data: "abc", steps: 10 },
  step: 7,
  seconds: 3.5,
} as const;

test("gives back what was written, bit for bit", async () => {
  await using folder = temporaryFolder();
  const written = states("once");
  await writeCheckpoint(folder.path, progress, written);
  const found = (await findCheckpoint(folder.path))!;
  const { plan, step, seconds } = found;
  assert.equal({ plan, step, seconds }, progress);
  const restored = states();
  await restoreCheckpoint(folder.path, found, restored);
  assert.equal(restored, written);
});

test("the next one takes the place of the one before", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  await writeCheckpoint(folder.path, { ...progress, step: 8 }, states("twice"));
  assert.equal(readdirSync(folder.path).sort(), ["checkpoint.json", "state-000008.safetensors"]);
  const restored = states();
  await restoreCheckpoint(folder.path, (await findCheckpoint(folder.path))!, restored);
  assert.equal(restored, states("twice"));
});

test("a folder without one has none", async () => {
  await using folder = temporaryFolder();
  assert.is(await findCheckpoint(folder.path), undefined);
  assert.is(await findCheckpoint(join(folder.path, "none")), undefined);
});

test("whatever a writing leaves that stops before its end, the checkpoint before is whole", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  writeFileSync(join(folder.path, "state-000008.safetensors"), "half");
  writeFileSync(join(folder.path, "checkpoint.json.new"), "{");
  const restored = states();
  await restoreCheckpoint(folder.path, (await findCheckpoint(folder.path))!, restored);
  assert.equal(restored, states("once"));
});

test("a state file that is cut short is refused at every length", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  const found = (await findCheckpoint(folder.path))!;
  const file = join(folder.path, found.state);
  for (let size = readFileSync(file).length - 1; size >= 0; size -= 29) {
    truncateSync(file, size);
    await refused(restoreCheckpoint(folder.path, found, states()), /state-000007\.safetensors/);
  }
});

test("one flipped bit, or zeros, of any of its files is refused", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  const restore = async () =>
    restoreCheckpoint(folder.path, (await findCheckpoint(folder.path))!, states());
  for (const name of ["checkpoint.json", "state-000007.safetensors"]) {
    const file = join(folder.path, name);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 7) {
      if (/\s/.test(String.fromCharCode(whole[at]!)) && name.endsWith("json")) continue;
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1 << (at % 7);
      writeFileSync(file, flipped);
      await refused(restore(), new RegExp(`${name}: expected `));
    }
    writeFileSync(file, Buffer.alloc(whole.length));
    await refused(restore(), new RegExp(`${name}: expected `));
    writeFileSync(file, whole);
  }
  await restore();
});

test("a checkpoint of another model is refused, with the parameter named", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  const found = (await findCheckpoint(folder.path))!;
  const other = states().set("b.weight", parameterState([2], new Float32Array(2)));
  await refused(
    restoreCheckpoint(folder.path, found, other),
    /value:b\.weight: expected 2 values, got 0/,
  );
});

for (const [title, text, named] of [
  ["no JSON", "{", "text"],
  ["another version", '{"format":"reatt-checkpoint","version":2}', "version"],
  [
    "a state file elsewhere",
    JSON.stringify({ ...wholeText(), state: "../state-1.safetensors" }),
    "state",
  ],
  ["an entry that is unknown", JSON.stringify({ ...wholeText(), extra: 1 }), "text"],
  ["a step that is none", JSON.stringify({ ...wholeText(), step: -1 }), "step"],
] as const)
  test(`a description that is ${title} is refused`, async () => {
    await using folder = temporaryFolder();
    writeFileSync(join(folder.path, "checkpoint.json"), text);
    await refused(findCheckpoint(folder.path), new RegExp(`checkpoint\\.json: .* got ${named}: `));
  });

function wholeText(): RunCheckpoint {
  const state = { state: "state-000007.safetensors", stateChecksum: 0 };
  return { format: "reatt-checkpoint", version: 1, ...progress, ...state };
}

test("another plan is refused, with the options that differ", () => {
  checkPlan("run", wholeText(), { steps: 10, data: "abc" });
  for (const [plan, expected] of [
    [
      { data: "xyz", steps: 10 },
      "run: expected the training data that the run began with, got another; resume with",
    ],
    [{ data: "abc", steps: 20 }, "run, steps: expected 10, as the run began with, got 20"],
    [{ data: "abc", steps: 10, seed: 3 }, "run, seed: expected none, as the run began with, got 3"],
    [
      { data: "xyz", steps: 20, candidatesPerQuestion: 4 },
      "run: expected steps 10, candidatesPerQuestion none, as the run began with, " +
        "got steps 20, candidatesPerQuestion 4; resume with",
    ],
  ] as const)
    assert.throws(
      () => checkPlan("run", wholeText(), plan),
      (error: Error) => error instanceof InputError && error.message.startsWith(expected),
    );
});

test("a disk that refuses leaves the checkpoint before", async () => {
  await using folder = temporaryFolder();
  await writeCheckpoint(folder.path, progress, states("once"));
  mkdirSync(join(folder.path, "state-000008.safetensors", "full"), { recursive: true });
  const writing = writeCheckpoint(folder.path, { ...progress, step: 8 }, states());
  await refused(writing, /state-000008\.safetensors: expected to be able to write, got /);
  const restored = states();
  await restoreCheckpoint(folder.path, (await findCheckpoint(folder.path))!, restored);
  assert.equal(restored, states("once"));
});

test.run();
