/** A manifest with a valid checksum and wrong contents is an InputError, never another error. */

import { readFile, writeFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import { manifestPath } from "../../../../src/retrieval/index/format/manifest.ts";
import { deletePassages, verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import { build, encodeText, encodeVaried, makePassages, temporary } from "../../support.ts";
import { addingStates, statesHeader } from "../../toy-states.ts";

// biome-ignore lint/suspicious/noExplicitAny: the tests put values of any type in any place
type Json = any;

const directory = await temporary();
await build(directory.path, makePassages(100), {
  ...{ bits: 2, header: statesHeader, encode: addingStates(encodeVaried) },
});
await deletePassages(["p1", "p50"], { directory: directory.path });
const path = manifestPath(directory.path);
const original = await readFile(path, "utf8");

test.after(async () => {
  await directory[Symbol.asyncDispose]();
});

/** Writes the manifest with a change and a checksum that fits. */
async function change(apply: (manifest: Json) => void): Promise<void> {
  const { checksum: _, ...manifest } = JSON.parse(original);
  apply(manifest);
  const checksum = crc32(JSON.stringify(manifest));
  await writeFile(path, JSON.stringify({ ...manifest, checksum }));
}

async function use(): Promise<void> {
  await using index = await openIndex(directory.path);
  await index.search(encodeText("w1 w2"), { topK: 5 });
}

const rename = (files: Json, from: string, to: string): void => {
  files[to] = files[from];
  delete files[from];
};

const CHANGES: Readonly<Record<string, (manifest: Json) => void>> = {
  "another dimension": ({ header }) => {
    header.dimension = 16;
  },
  "a huge dimension": ({ header }) => {
    header.dimension = 2 ** 50;
  },
  "no dimension": ({ header }) => {
    delete header.dimension;
  },
  "more passages": ({ segments: [segment] }) => segment.passages++,
  "a file name that leads out of the folder": ({ segments: [{ files }] }) =>
    rename(files, "ids.u64", "../ids.u64"),
  "an unknown file": ({ segments: [{ files }] }) => rename(files, "ids.u64", "other.u64"),
  "a header without states": ({ header }) => delete header.states,
  "states of no size": ({ header }) => {
    header.states.size = 0;
  },
  "a missing file of states": ({ segments: [{ files }] }) => delete files["states.bin"],
  "a missing file": ({ segments: [{ files }] }) => delete files["codes.u64"],
  "no block checksums": ({ segments: [{ files }] }) => delete files["blocks.u32"],
  "another order of files": ({ segments: [segment] }) => {
    segment.files = Object.fromEntries(Object.entries(segment.files).reverse());
  },
  "a segment twice": ({ segments }) => segments.push(segments[0]),
  "a segment that does not exist": ({ segments: [segment] }) => {
    segment.name = "000007";
  },
  "the name of a folder elsewhere": ({ segments: [segment] }) => {
    segment.name = "../../etc";
  },
  "float32 keys": (manifest) => {
    manifest.codec = { name: "float32" };
  },
  "an unknown codec": ({ codec }) => {
    codec.name = "zip";
  },
  "other bits": ({ codec }) => {
    codec.bits = 8;
  },
  "3 bits": ({ codec }) => {
    codec.bits = 3;
  },
  "a missing codebook file": ({ codec }) => delete codec.files["parts.u8"],
  "a codebook of another size": ({ codec }) => {
    codec.files["centroids.f32"].bytes *= 2;
  },
  "more deleted passages than passages": ({ segments: [{ deleted }] }) => {
    deleted.passages = 101;
  },
  "a file of deletions of another size": ({ segments: [{ deleted }] }) => {
    deleted.bytes++;
  },
  "a shard beyond the count": (manifest) => {
    manifest.shard = { index: 2, count: 2 };
  },
  "segments that are no list": (manifest) => {
    manifest.segments = { length: 1 };
  },
  "a negative generation": (manifest) => {
    manifest.generation = -1;
  },
};

for (const [what, apply] of Object.entries(CHANGES))
  test(`${what}: an InputError of one line`, async () => {
    await change(apply);
    const error = await use().then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.instance(error, InputError, `${(error as Error)?.stack}`);
    assert.not.match((error as Error).message, /\n/);
    await verifyIndex(directory.path).catch((error) =>
      assert.instance(error, InputError, error.stack),
    );
    await writeFile(path, original);
  });

test("the unchanged manifest is accepted", async () => {
  await change(() => {});
  await use();
});

test.run();
