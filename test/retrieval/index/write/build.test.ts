import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import { readManifest, segmentPath } from "../../../../src/retrieval/index/format/manifest.ts";
import type { BuildOptions, BuildProgress } from "../../../../src/retrieval/index/write/build.ts";
import { verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import {
  build,
  damage,
  encode,
  encodeText,
  header,
  makePassages,
  naiveSearch,
  rejects,
  sameBytes,
  temporary,
} from "../../support.ts";
import { addingStates, checkStates, statesHeader } from "../../toy-states.ts";

const WINDOWS = makePassages(2000); // four windows

test("describes itself and returns the passages", async () => {
  await using directory = await temporary();
  const passages = [
    { id: "ü", title: "Über", text: 'line\nbreak "quoted"' },
    { id: "b", title: "", text: "\ud800 lone" },
  ];
  await build(directory.path, passages);
  await using index = await openIndex(directory.path, {}, { fingerprint: "toy" });
  assert.equal(index.header, header);
  assert.is(index.passageCount, 2);
  assert.is(index.tokenCount, 4);
  assert.equal(await index.passages([1, 0]), [passages[1], passages[0]]);
  assert.is(await index.find("b"), 1);
  assert.is(await index.find("c"), undefined);
});

test("rejects the questions of another model", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(3));
  await rejects(
    openIndex(directory.path, {}, { fingerprint: "other" }),
    /of the model other, got one of the model toy/,
  );
});

test("rejects duplicate ids near and far, and an empty stream", async () => {
  await using directory = await temporary();
  for (const at of [1, 1999]) {
    const passages = [...WINDOWS];
    passages[at] = { ...passages[at]!, id: "p0" };
    await rejects(
      build(directory.path, passages),
      new RegExp(`^passage ${at + 1}: .* "p0", the id of passage 1;`),
    );
  }
  await rejects(build(directory.path, []), /expected passages to index, got none/);
  await rejects(openIndex(directory.path), /no index\.json/);
});

test("reports in one line that it cannot write", async () => {
  await using directory = await temporary();
  await writeFile(join(directory.path, "file"), "");
  const error = await build(join(directory.path, "file", "index"), WINDOWS).catch(
    (error: unknown) => error,
  );
  assert.instance(error, InputError);
  assert.not.match((error as Error).message, /\n/);
});

test("resumes after an interruption and ends with the same bytes", async () => {
  await using whole = await temporary();
  await build(whole.path, WINDOWS);
  await using directory = await temporary();
  await interrupt(directory.path, 2);
  const { events, encoded } = await watchedBuild(directory.path);
  assert.is(encoded, 2000 - 1024);
  assert.equal(
    events.map(({ event, passages }) => `${event} ${passages}`),
    ["resumed 1024", "reused 512", "reused 1024", "encoded 1536", "encoded 2000", "finished 2000"],
  );
  await sameBytes(directory.path, whole.path);
});

test("an interrupted build with states ends with the same bytes, and verify reads its states", async () => {
  const options = { header: statesHeader, encode: addingStates() };
  await using whole = await temporary();
  await build(whole.path, WINDOWS, options);
  await using directory = await temporary();
  await interrupt(directory.path, 2, options);
  const states = join(segmentPath(directory.path, "000001"), "states.bin");
  await damage(states, 0.7, false); // the second window
  const { events } = await watchedBuild(directory.path, WINDOWS, options);
  assert.equal(events[0], { event: "resumed", passages: 512, tokens: events[0]!.tokens });
  await sameBytes(directory.path, whole.path);
  await using index = await openIndex(directory.path);
  await checkStates(index);
  await damage(states, 0.3, false);
  assert.equal(await verifyIndex(directory.path), [
    { path: states, problem: "its contents have changed" },
  ]);
  const ordinal = Math.floor(0.3 * WINDOWS.length);
  const near = Array.from({ length: 300 }, (_, i) => ordinal - 150 + i);
  await rejects(index.states(near), /states\.bin: expected the checksum of the block at/);
});

test("an encoder that adds no states is a defect", async () => {
  await using directory = await temporary();
  await rejects(
    build(directory.path, makePassages(3), { header: statesHeader }),
    /^encode added no states of passage 0$/,
  );
});

test("an index without states gives none", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(3));
  await using index = await openIndex(directory.path);
  assert.is(await index.states([0, 1]), undefined);
  assert.equal((await readdir(segmentPath(directory.path, "000001"))).sort(), [
    ...["blocks.u32", "ids.u64", "keys.f32", "offsets.u64", "passages.deflate", "words.bin"],
  ]);
});

test("encodes damaged windows of an interrupted build again", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom("keys.f32", "passages.deflate", "offsets.u64", "journal"),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.boolean(),
      async (name, where, torn) => {
        await using directory = await temporary();
        await interrupt(directory.path, 3);
        await damage(join(segmentPath(directory.path, "000001"), name), where, torn);
        await build(directory.path, WINDOWS);
        await sameBytes(directory.path, await wholeBuild());
      },
    ),
    { numRuns: 25 },
  ));

test("keeps the common beginning of another corpus", async () => {
  await using directory = await temporary();
  await interrupt(directory.path, 3);
  const changed = WINDOWS.with(600, { id: "new", title: "", text: "w1" });
  const { events, encoded } = await watchedBuild(directory.path, changed);
  assert.is(encoded, 2000 - 512);
  assert.equal(events.find(({ event }) => event === "diverged")?.passages, 512);
  await using index = await openIndex(directory.path);
  assert.is((await index.passages([600]))[0]!.id, "new");
});

test("starts again for another model", async () => {
  await using directory = await temporary();
  await interrupt(directory.path, 3);
  const { encoded } = await watchedBuild(directory.path, WINDOWS, {
    header: { ...header, fingerprint: "other" },
  });
  assert.is(encoded, 2000);
});

test("a build that was killed before its first file is generation 1 when it is repeated", async () => {
  await using directory = await temporary();
  await mkdir(segmentPath(directory.path, "000001"), { recursive: true });
  await build(directory.path, makePassages(10));
  assert.is((await readManifest(directory.path)).generation, 1);
  await rm(join(directory.path, "index.json")); // a lost manifest: its segment stays as it is
  await build(directory.path, makePassages(20));
  assert.is((await readManifest(directory.path)).generation, 2);
});

test("replaces an index only by a complete one, and lets its readers finish", async () => {
  await using directory = await temporary();
  const old = makePassages(300, 7);
  await build(directory.path, old);
  await using reader = await openIndex(directory.path, { memoryLimit: 0 });
  await interrupt(directory.path, 2);
  await using between = await openIndex(directory.path);
  assert.is(between.passageCount, 300);
  await build(directory.path, WINDOWS);
  const question = encodeText("w1 w2");
  const expected = naiveSearch(
    question,
    old.map(({ text }) => encodeText(text)),
    5,
  );
  assert.equal(
    (await reader.search(question, { topK: 5 })).map(({ ordinal }) => ordinal),
    expected.map(({ ordinal }) => ordinal),
  );
  await using after = await openIndex(directory.path);
  assert.is(after.passageCount, 2000);
  assert.is(after.generation, 2);
  assert.equal(await readdir(join(directory.path, "segments")), ["000002"]);
});

test("a key that is not finite stops the build", async () => {
  await using directory = await temporary();
  for (const wrong of [Number.NaN, Infinity, -Infinity]) {
    const wrongLast = async (passages: Parameters<typeof encode>[0]) => {
      const keys = await encode(passages);
      keys.at(-1)![keys.at(-1)!.length - 2] = wrong;
      return keys;
    };
    const built = build(directory.path, makePassages(10), { encode: wrongLast });
    await rejects(built, /a key that is not finite/);
  }
});

test("allows one build at a time", async () => {
  await using directory = await temporary();
  let second = "";
  await build(directory.path, makePassages(10), {
    encode: async (passages) => {
      second = await build(directory.path, WINDOWS).then(
        () => "it built",
        (error: Error) => error.message,
      );
      return encode(passages);
    },
  });
  assert.match(second, new RegExp(`expected no other writer, got process ${process.pid}`));
});

test("a damaged file causes an error that names it, never a wrong answer", async () => {
  await using directory = await temporary();
  await build(directory.path, WINDOWS);
  const segment = segmentPath(directory.path, "000001");
  const names = (await readdir(segment)).map((name) => join(segment, name));
  const answer = await answers(directory.path);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(join(directory.path, "index.json"), ...names),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.boolean(),
      async (path, where, torn) => {
        const before = await readFile(path);
        await damage(path, where, torn);
        const outcome = await answers(directory.path).catch((error: unknown) => error);
        const found = await verifyIndex(directory.path).catch((error: unknown) => error as Error);
        await writeFile(path, before);
        if (outcome instanceof Error) {
          assert.instance(outcome, InputError);
          assert.ok(outcome.message.startsWith(path), outcome.message);
        } else assert.equal(outcome, answer);
        const named = found instanceof Error ? found.message : found.map(({ path }) => path).join();
        assert.ok(
          named.startsWith(path) || path.endsWith("index.json"),
          `${path} damaged, found: ${named}`,
        );
      },
    ),
    { numRuns: 60 },
  );
  assert.equal(await verifyIndex(directory.path), []);
});

const SMALL_DISK = "2m";
const cannotMount = mountFailure();

test(`a full disk stops the build in one line, and the build resumes later${cannotMount ? `: SKIPPED, ${cannotMount}` : ""}`, async () => {
  if (cannotMount) return;
  await using directory = await temporary();
  const disk = join(directory.path, "disk");
  await mkdir(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SMALL_DISK}`, "tmpfs", disk]);
  try {
    const index = join(disk, "index");
    await build(index, makePassages(100));
    await writeFile(join(disk, "ballast"), new Uint8Array(1_500_000));
    const error = await build(index, WINDOWS).catch((error: unknown) => error);
    assert.instance(error, InputError);
    assert.match((error as Error).message, /ENOSPC.*free some space and run it again/);
    await using old = await openIndex(index);
    assert.is(old.passageCount, 100);
    await rm(join(disk, "ballast"));
    await build(index, WINDOWS);
    assert.is((await readManifest(index)).segments[0]!.passages, 2000);
  } finally {
    execFileSync("umount", ["-l", disk]);
  }
});

/** Stops a build after `windows` windows. */
async function interrupt(
  directory: string,
  windows: number,
  options: Partial<BuildOptions> = {},
): Promise<void> {
  const controller = new AbortController();
  let done = 0;
  await rejects(
    build(directory, WINDOWS, {
      signal: controller.signal,
      onProgress: () => {
        if (++done === windows) controller.abort(new Error("stopped"));
      },
      ...options,
    }),
    /stopped/,
  );
}

async function watchedBuild(
  directory: string,
  passages = WINDOWS,
  options: Partial<BuildOptions> = {},
): Promise<{ events: BuildProgress[]; encoded: number }> {
  const events: BuildProgress[] = [];
  let encoded = 0;
  await build(directory, passages, {
    onProgress: (event) => events.push(event),
    encode: (window) => {
      encoded += window.length;
      return encode(window);
    },
    ...options,
  });
  return { events, encoded };
}

let cachedWhole: (AsyncDisposable & { path: string }) | undefined;

/** An uninterrupted build of `WINDOWS`. */
async function wholeBuild(): Promise<string> {
  if (!cachedWhole) {
    cachedWhole = await temporary();
    await build(cachedWhole.path, WINDOWS);
  }
  return cachedWhole.path;
}

test.after(async () => {
  await cachedWhole?.[Symbol.asyncDispose]();
});

async function answers(directory: string): Promise<unknown> {
  await using index = await openIndex(directory);
  const hits = await index.search(encodeText("w1 w2 w3"), { topK: 10 });
  const all = await index.passages(Array.from({ length: index.passageCount }, (_, i) => i));
  return [hits, all, await index.find("p1234"), await index.find("none")];
}

/** The reason why this system cannot create a small disk; it takes Linux and the right to mount. */
function mountFailure(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "reatt-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", directory], { stdio: "ignore" });
    execFileSync("umount", [directory]);
    return undefined;
  } catch {
    return "no disk can be mounted here";
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test.run();
