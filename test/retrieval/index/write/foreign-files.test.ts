/** Folders that reatt did not make, and files of others in those that it made. */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import { writeManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import {
  checkReplaceable,
  type IndexState,
  replaceIndex,
  updateIndex,
} from "../../../../src/retrieval/index/write/transaction.ts";
import { rejects, temporary } from "../../support.ts";

const EMPTY: IndexState = {
  header: { fingerprint: "model", dimension: 2, maxPassageTokens: 512, prompts: {} },
  codec: { name: "float32" },
  segments: [],
};
const write = async (): Promise<IndexState> => EMPTY;
const replace = (directory: string) => replaceIndex(directory, write, { replace: true });

async function put(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Files of others: in none of these folders is anything written or removed. */
const FOREIGN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a web project": { "index.json": '{"title": "Home"}', "src/page.js": "1" },
  "an index.json alone": { "index.json": '{"title": "Home"}' },
  "an index.json that is no JSON": { "index.json": "Home" },
  "segments of another program": { "segments/notes.txt": "mine" },
  "segments with numbers": { "segments/000001/photo.jpg": "mine", "codebooks/000001/a.txt": "b" },
  "a file with the name of a segment": { "segments/000001": "mine" },
  "codebooks of another program": { "segments/000001/journal": "", "codebooks/cipher.txt": "x" },
  "a readme": { "README.md": "# Mine" },
  "a folder sync of another program": { "sync/photos.db": "mine" },
};

for (const [name, files] of Object.entries(FOREIGN))
  test(`${name} is not replaced, and nothing is written`, async () => {
    await using folder = await temporary();
    await put(folder.path, files);
    const before = (await filesIn(folder.path)).sort();
    for (const call of [
      () => replace(folder.path),
      () => checkReplaceable(folder.path, true),
      () => checkReplaceable(folder.path, false),
    ])
      assert.match(
        String(await call().catch(String)),
        /expected an empty folder or an index, got /,
      );
    assert.equal((await filesIn(folder.path)).sort(), before);
    for (const [file, text] of Object.entries(files))
      assert.is(await readFile(join(folder.path, file), "utf8"), text);
  });

test("an index of a newer version is not replaced", async () => {
  await using folder = await temporary();
  await put(folder.path, { "index.json": '{"format": "reatt-index", "version": 2}' });
  const error = String(await replace(folder.path).catch(String));
  assert.match(error, /expected an index of version 1, got one of a newer version/);
});

test("files of others in an index stay, and do not count as generations", async () => {
  await using folder = await temporary();
  await replace(folder.path);
  const files = {
    "notes.txt": "a",
    "segments/notes.txt": "b",
    "segments/0000042/photo.jpg": "c",
    "segments/000043": "d",
    "codebooks/old/a.txt": "e",
  };
  await put(folder.path, {
    ...files,
    "segments/0000042/keys.f32": "",
    "segments/000044/journal": "",
  });
  assert.is((await replace(folder.path)).generation, 2);
  for (const [file, text] of Object.entries(files))
    assert.is(await readFile(join(folder.path, file), "utf8"), text);
  assert.equal((await readdir(join(folder.path, "segments"))).sort(), [
    "0000042",
    "000043",
    "notes.txt",
  ]);
  assert.equal(await readdir(join(folder.path, "segments", "0000042")), ["photo.jpg"]);
});

test("a change that fills the disk leaves nothing, and another that fails can go on", async () => {
  await using folder = await temporary();
  await replace(folder.path);
  const failing = (code: "ERR_REATT_DISK_FULL" | "ERR_REATT_BUSY") =>
    updateIndex(
      folder.path,
      async (_, name) => {
        const stage = join("segments", `${name}.stage`);
        await put(folder.path, { [join(stage, "keys.f32")]: "", [join(stage, "journal")]: "" });
        throw new InputError({ code, where: "keys.f32", expected: "a", got: "b", remedy: "c" });
      },
      {},
    );
  const segments = (): Promise<string[]> => readdir(join(folder.path, "segments"));
  await rejects(failing("ERR_REATT_BUSY"), /keys\.f32: expected a/);
  assert.equal(await segments(), ["000002.stage"]);
  await rejects(failing("ERR_REATT_DISK_FULL"), /keys\.f32: expected a/);
  assert.equal(await segments(), []);
});

test("a build that was stopped continues, and an index with a damaged manifest is replaced", async () => {
  await using folder = await temporary();
  await put(folder.path, { "segments/000001/journal": "", "segments/000001/window/keys.f32": "" });
  await mkdir(join(folder.path, "codebooks"));
  assert.is((await replace(folder.path)).generation, 1);
  await rm(join(folder.path, "index.json"));
  await put(folder.path, { "segments/000001/passages.deflate": "" });
  await writeFile(join(folder.path, "index.json"), Buffer.alloc(100));
  await replace(folder.path);
  await writeManifest(folder.path, { ...EMPTY, format: "reatt-index", version: 1, generation: 3 });
  assert.is((await replace(folder.path)).generation, 4);
});

test.run();
