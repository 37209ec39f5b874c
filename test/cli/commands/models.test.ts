/** Models on the command line: downloaded, listed, and used by name or by default. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { EMBEDDED_MODEL } from "../../../src/hub/model-name.ts";
import { startHub } from "../../support/hub-server.ts";
import { runCaptured } from "../support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-models-"));
const at = (...names: string[]) => join(folder, ...names);
const COMMIT = "c".repeat(40);
const embedded = (name: string) => [name, readFileSync(join(EMBEDDED_MODEL, name))] as const;
const files = ["config.json", "spiece.model", "model.safetensors"].map(embedded);
const megabytes = files.reduce((sum, [, bytes]) => sum + bytes.length, 0) / 1e6;
const hub = await startHub({
  "reatt/copy": { refs: { main: COMMIT }, files: Object.fromEntries(files) },
});
process.env.HF_HOME = at("home");
process.env.HF_ENDPOINT = hub.url;
delete process.env.HF_HUB_CACHE;
test.after(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const reatt = (...args: string[]) => runCaptured(args);
const snapshot = at("home", "hub", "models--reatt--copy", "snapshots", COMMIT);

test("download prints the folder, and its progress on stderr", async () => {
  const { code, stdout, stderr } = await reatt("download", "reatt/copy");
  assert.equal([code, stdout], [0, `${snapshot}\n`]);
  const all = Math.round(megabytes);
  assert.match(stderr, new RegExp(`^${all}/${all} MB of reatt/copy, `, "m"));
  assert.equal(await reatt("download", "reatt/copy"), { code: 0, stdout, stderr: "" });
});

test("models lists the embedded model and the downloaded ones", async () => {
  const { stdout } = await reatt("models");
  const [first, second] = stdout.trimEnd().split("\n");
  const size = `${megabytes.toFixed(1)} MB`;
  assert.is(first, `(default)    ${size}  ${EMBEDDED_MODEL}`);
  assert.is(second, `reatt/copy   ${size}  ${snapshot}`);
  const json = (await reatt("models", "--json")).stdout.trimEnd().split("\n");
  const [mini, copy] = json.map((line) => JSON.parse(line));
  assert.equal([mini.name, copy.name, copy.folder], [undefined, "reatt/copy", snapshot]);
});

test("a model by default and a model of the hub by its name answer the same", async () => {
  writeFileSync(at("corpus.jsonl"), '{"id":"1","title":"Rhine","text":"The Rhine flows north."}\n');
  const made = await reatt("index", "--corpus", at("corpus.jsonl"), "--out", at("index"));
  assert.is(made.code, 0, made.stderr);
  const ask = ["retrieve", "--index", at("index"), "--question", "Where does it flow?", "--json"];
  process.env.HF_HUB_OFFLINE = "1";
  const named = await reatt(...ask, "--model", "reatt/copy");
  assert.equal(named, await reatt(...ask));
  assert.is(named.code, 0);
  const missing = await reatt(...ask, "--model", "reatt/none");
  assert.is(missing.code, 1);
  assert.match(missing.stderr, /^reatt: reatt\/none: expected .* HF_HUB_OFFLINE is set; [^\n]*\n$/);
  delete process.env.HF_HUB_OFFLINE;
});

test("train finds a model of the hub", async () => {
  const files = ["--corpus", at("corpus.jsonl"), "--data", at("none.jsonl"), "--out", at("run")];
  const args = [...files, "--candidates-per-question", "1"];
  const { code, stderr } = await reatt("train", "--model", "reatt/copy", ...args);
  assert.is(code, 1);
  assert.match(stderr, /none\.jsonl: expected /); // the model was found before
});

test("wrong usage of download", async () => {
  assert.match((await reatt("download")).stderr, /download which model\?/);
  const { code, stderr } = await reatt("download", "t5-small");
  assert.is(code, 2);
  assert.match(stderr, /expected a name of the hub, ORG\/NAME\[@REVISION\], got "t5-small"/);
});

test.run();
