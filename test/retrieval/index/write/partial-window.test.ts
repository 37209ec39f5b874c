/** A build that is interrupted in the middle of a window keeps what it has encoded. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { findManifest, segmentPath } from "../../../../src/retrieval/index/format/manifest.ts";
import { LOADER, programBeside } from "../../../support/node-program.ts";
import { build, damage, makePassages, rejects, sameBytes, temporary } from "../../support.ts";
import { CORPUS, GROUP, groupEncoder } from "./group-encoder.ts";

const KILLS = Number(process.env.KILLS ?? 3);
const BUILDER = programBeside("group-builder", import.meta.url);

const builds = await temporary();
const whole = join(builds.path, "whole");
const interrupted = join(builds.path, "interrupted");
await build(whole, CORPUS, groupEncoder());
await stopAfter(interrupted, 5);

test.after(async () => {
  await builds[Symbol.asyncDispose]();
});

async function stopAfter(directory: string, groups: number): Promise<void> {
  const controller = new AbortController();
  const onGroup = (count: number) => {
    if (count === groups) controller.abort(new Error("stopped"));
  };
  const { signal } = controller;
  await rejects(build(directory, CORPUS, { ...groupEncoder({ onGroup, signal }), signal }), /stop/);
}

test("encodes only the rest of the window, and ends with the same bytes", async () => {
  await using directory = await temporary();
  await cp(interrupted, directory.path, { recursive: true });
  const events: string[] = [];
  const { encode, encoded, header } = groupEncoder();
  await build(directory.path, CORPUS, {
    ...{ encode, header },
    onProgress: ({ event, passages }) => events.push(`${event} ${passages}`),
  });
  assert.is(encoded(), CORPUS.length - 5 * GROUP);
  assert.is(events[0], `reused ${5 * GROUP}`);
  await sameBytes(directory.path, whole);
});

test("continues a second window too, and one that is interrupted twice", async () => {
  await using directory = await temporary();
  await cp(interrupted, directory.path, { recursive: true });
  await stopAfter(directory.path, 2);
  await stopAfter(directory.path, 5);
  const { encode, encoded, header } = groupEncoder();
  await build(directory.path, CORPUS, { encode, header });
  assert.is(encoded(), CORPUS.length - 12 * GROUP);
  await sameBytes(directory.path, whole);
});

test("does not use the keys of another corpus or model", async () => {
  for (const [passages, fingerprint] of [
    [CORPUS.with(0, { id: "new", title: "", text: "w1" }), "toy"],
    [CORPUS, "other"],
  ] as const) {
    await using directory = await temporary();
    await cp(interrupted, directory.path, { recursive: true });
    const { encode, encoded, header } = groupEncoder();
    await build(directory.path, passages, { encode, header: { ...header, fingerprint } });
    assert.is(encoded(), passages.length);
  }
});

test("encodes damaged keys again", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom("keys.f32", "states.bin", "journal"),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.boolean(),
      async (name, where, torn) => {
        await using directory = await temporary();
        await cp(interrupted, directory.path, { recursive: true });
        await damage(join(segmentPath(directory.path, "000001"), "window", name), where, torn);
        await build(directory.path, CORPUS, groupEncoder());
        await sameBytes(directory.path, whole);
      },
    ),
    { numRuns: 10 },
  ));

test(`survives ${KILLS} kills and loses at most some seconds of each`, async () => {
  await using directory = await temporary();
  let before = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = fork(BUILDER, [directory.path], { execArgv: [...LOADER] });
    const exit = once(child, "exit");
    const [known] = (await once(child, "message")) as [number];
    assert.ok(known >= before, `${known} known after ${before}`);
    if (kill > 0) assert.ok(known > 0, "nothing was kept");
    before = known;
    await sleep(2500);
    child.kill("SIGKILL");
    await exit;
    if (await findManifest(directory.path)) break;
  }
  await build(directory.path, CORPUS, groupEncoder());
  await sameBytes(directory.path, whole);
});

for (const [keepRatio, keepStates] of [
  [1, false],
  [0.5, true],
] as const)
  test(`a model continues a window with the same keys, keepRatio ${keepRatio}, ${keepStates ? "with" : "without"} states`, async () => {
    await using model = await ReAtt.load("models/reatt-mini", { threads: 1 });
    await using directory = await temporary();
    const passages = makePassages(200);
    const at = (name: string) => ({ directory: join(directory.path, name), keepRatio, keepStates });
    await using _ = await model.index(passages, at("whole"));
    const controller = new AbortController();
    let done = 0;
    const stopped = model.index(passages, {
      ...at("resumed"),
      signal: controller.signal,
      onProgress: (progress) => {
        done = progress.passages;
        if (done > 100) controller.abort(new Error("stopped"));
      },
    });
    await rejects(stopped, /stopped/);
    const events: string[] = [];
    await using __ = await model.index(passages, {
      ...at("resumed"),
      onProgress: ({ event, passages }) => events.push(`${event} ${passages}`),
    });
    assert.is(events[0], `reused ${done}`);
    await sameBytes(at("resumed").directory, at("whole").directory);
  });

test.run();
