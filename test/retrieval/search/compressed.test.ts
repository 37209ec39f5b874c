import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import type { Bits } from "../../../src/retrieval/codec/codec.ts";
import {
  codebookPath,
  type Manifest,
  readManifest,
  segmentPath,
  writeManifest,
} from "../../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  build,
  encodeText,
  header,
  makePassages,
  noise,
  rejects,
  sameBytes,
  temporary,
} from "../support.ts";

test("candidate search returns topK passages, most of exact search, with its scores", async () => {
  await using directory = await temporary();
  // The keys of a word differ between passages, as those of a model do.
  let seed = 0;
  const encode = async (passages: readonly Passage[]) =>
    passages.map(({ text }) => {
      const keys = encodeText(text);
      const change = noise(keys.length, seed++);
      return keys.map((key, i) => key + 0.7 * change[i]!);
    });
  await build(directory.path, makePassages(3000), { bits: 4, encode });
  await using exact = await openIndex(directory.path, { preset: "exact" });
  for (const [preset, least] of [
    ["fast", 0.5],
    ["balanced", 0.9],
  ] as const) {
    await using index = await openIndex(directory.path, { preset });
    let shared = 0;
    for (let i = 0; i < 15; i++) {
      const question = encodeText(`w${i} w${(3 * i) % 50} w${(7 * i + 1) % 50} u${i}`);
      const all = new Map(
        (await exact.search(question, { topK: 3000 })).map((hit) => [hit.ordinal, hit]),
      );
      const best = (await exact.search(question, { topK: 10 })).at(-1)!.score;
      const hits = await index.search(question, { topK: 10 });
      assert.is(hits.length, 10);
      for (const hit of hits) assert.equal(hit, all.get(hit.ordinal));
      shared += hits.filter(({ score }) => score >= best).length / 10;
    }
    assert.ok(shared / 15 >= least, `${preset} found ${shared / 15}`);
    assert.is((await index.search(encodeText("w1"), { topK: 5000 })).length, 3000);
  }
});

test("a compressed build resumes after an interruption and ends with the same bytes", async () => {
  const passages = makePassages(1200);
  await using whole = await temporary();
  await build(whole.path, passages, { bits: 2 });
  await using directory = await temporary();
  for (const stop of ["encoded", "compressed"]) {
    const controller = new AbortController();
    await rejects(
      build(directory.path, passages, {
        bits: 2,
        signal: controller.signal,
        onProgress: ({ event }) => {
          if (event === stop) controller.abort(new Error("stopped"));
        },
      }),
      /stopped/,
    );
  }
  await build(directory.path, passages, { bits: 2 });
  await sameBytes(directory.path, whole.path);
  assert.equal(await readdir(join(directory.path, "segments")), ["000001"]);
});

test("an index of float32 keys and a compressed one replace each other", async () => {
  await using directory = await temporary();
  for (const [generation, bits] of (
    [undefined, 8, 2, undefined] as (Bits | undefined)[]
  ).entries()) {
    await build(directory.path, makePassages(100 + generation), { bits });
    await using index = await openIndex(directory.path);
    assert.is(index.generation, generation + 1);
    assert.is((await index.search(encodeText("w1 w2"), { topK: 200 })).length, 100 + generation);
  }
  assert.equal(await readdir(join(directory.path, "codebooks")), []);
});

test("names a damaged file", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(300), { bits: 2 });
  const folders = [segmentPath(directory.path, "000001"), codebookPath(directory.path, "000001")];
  const openAll = async (): Promise<void> => {
    await using index = await openIndex(directory.path);
    await index.words();
  };
  for (const folder of folders)
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const before = await readFile(path);
      await writeFile(
        path,
        before.map((byte, i) => (i === before.length >> 1 ? byte ^ 1 : byte)),
      );
      assert.equal(
        (await verifyIndex(directory.path)).map(({ path }) => path),
        [path],
      );
      await appendFile(path, "x");
      await rejects(openAll(), new RegExp(`${name}: expected`));
      await writeFile(path, before);
    }
});

test("rejects an unknown codec in one line", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(30), { bits: 2 });
  const manifest = await readManifest(directory.path);
  const codec = { ...manifest.codec, name: "residual" } as unknown as Manifest["codec"];
  await writeManifest(directory.path, { ...manifest, codec });
  const error = await openIndex(directory.path).catch((error: unknown) => error);
  assert.instance(error, InputError);
  assert.match(
    (error as Error).message,
    /^[^\n]*index\.json: expected a known codec\.name, got [^\n]*build the index again$/,
  );
});

test("rejects an invalid number of bits", async () => {
  await using directory = await temporary();
  const error = await build(directory.path, makePassages(5), { bits: 3 as Bits }).catch(
    (error: unknown) => error,
  );
  assert.instance(error, InputError);
  assert.match((error as Error).message, /^bits: expected 1, 2, 4 or 8/);
  const odd = { ...header, dimension: 4 };
  await rejects(
    build(directory.path, makePassages(5), { bits: 1, header: odd }),
    /whole bytes for 4 dimensions/,
  );
});

test.run();
