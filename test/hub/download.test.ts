/** Models of the hub, from a server with its API in this process. */

import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { availableModels } from "../../src/hub/available-models.ts";
import { nameOfSnapshot } from "../../src/hub/cache.ts";
import type { DownloadProgress } from "../../src/hub/download.ts";
import { locateModel } from "../../src/hub/locate-model.ts";
import { EMBEDDED_MODEL, parseHubName } from "../../src/hub/model-name.ts";
import { InputError } from "../../src/io/errors.ts";
import { ReAtt } from "../../src/reatt.ts";
import { type Fault, type HubServer, startHub } from "../support/hub-server.ts";
import { LOADER, programFile } from "../support/node-program.ts";

const COMMIT = "a".repeat(40);
const OLD = "b".repeat(40);
const TOKEN = "hf_secret";
const embedded = (file: string) => readFileSync(join(EMBEDDED_MODEL, file));
const weights = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) >> 3));
const shardIndex = Buffer.from(
  JSON.stringify({ weight_map: { a: "one.safetensors", b: "two.safetensors" } }),
);
const tokenizer = { "config.json": Buffer.from("{}"), "spiece.model": Buffer.from("pieces") };
const refs = { main: COMMIT, "refs/pr/1": OLD };
const small = { refs, files: { ...tokenizer, "model.safetensors": weights } };

const hub: HubServer = await startHub({
  "reatt/mini": {
    refs: { main: COMMIT, v1: OLD },
    files: {
      "config.json": embedded("config.json"),
      "spiece.model": embedded("spiece.model"),
      "generation_config.json": Buffer.from("{}"),
      "model.safetensors": embedded("model.safetensors"),
      "pytorch_model.bin": Buffer.alloc(2_000),
      "README.md": Buffer.from("# mini"),
      "onnx/model.onnx": Buffer.alloc(3_000),
    },
  },
  "reatt/small": small,
  "reatt/sharded": {
    refs,
    files: {
      ...tokenizer,
      "model.safetensors.index.json": shardIndex,
      "one.safetensors": weights,
      "two.safetensors": weights.subarray(1_000),
      "three.safetensors": Buffer.alloc(10),
    },
  },
  "reatt/torch": { refs, files: { ...tokenizer, "pytorch_model.bin": weights } },
  "reatt/private": { ...small, token: TOKEN },
  "reatt/gated": { ...small, token: TOKEN, isGated: true },
  "reatt/fast-only": {
    refs,
    files: { "config.json": Buffer.from("{}"), "tokenizer.json": weights },
  },
  "reatt/no-tokenizer": {
    refs,
    files: { "config.json": Buffer.from("{}"), "model.safetensors": weights },
  },
  "reatt/tf": { refs, files: { ...tokenizer, "tf_model.h5": weights } },
  "reatt/lacks": { refs, files: { ...tokenizer, "model.safetensors.index.json": shardIndex } },
});

const folder = mkdtempSync(join(tmpdir(), "reatt-hub-"));
let homes = 0;

test.before.each(() => {
  for (const name of Object.keys(process.env))
    if (/^(HF_|HUGGINGFACE_|XDG_CACHE)/.test(name)) delete process.env[name];
  process.env.HF_HOME = join(folder, `${homes++}`);
  process.env.HF_ENDPOINT = hub.url;
  hub.requests.length = 0;
  hub.fault = undefined;
});
test.after(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const cache = (...names: string[]) => join(process.env.HF_HOME!, "hub", ...names);

async function refused(name: string, message: RegExp): Promise<void> {
  try {
    await locateModel(name);
  } catch (error) {
    assert.instance(error, InputError);
    const { message: line } = error as InputError;
    assert.match(line, message);
    assert.not.match(line, "\n");
    assert.not.match(line, TOKEN);
    return;
  }
  assert.unreachable(`${name} was found`);
}

test("names of the hub", () => {
  assert.equal(parseHubName("google-t5/t5-small"), {
    repository: "google-t5/t5-small",
    revision: "main",
  });
  assert.equal(parseHubName("a/b_c.d@refs/pr/1"), { repository: "a/b_c.d", revision: "refs/pr/1" });
  for (const text of ["t5", "./a/b", "/a/b", "a/b/c", "a/b@", "../b", "a/..", "a/b@../c", "a--b/c"])
    assert.is(parseHubName(text), undefined, text);
});

test("a model is loaded by its name; only its files are downloaded, once", async () => {
  const progress: DownloadProgress[] = [];
  await using model = await ReAtt.load("reatt/mini", {
    onProgress: (event) => progress.push(event),
  });
  await using original = await ReAtt.load();
  assert.is(model.fingerprint, original.fingerprint);
  assert.is(model.folder, cache("models--reatt--mini", "snapshots", COMMIT));
  assert.is(nameOfSnapshot(model.folder), `reatt/mini@${COMMIT}`);
  const files = ["config.json", "generation_config.json", "model.safetensors", "spiece.model"];
  assert.equal(readdirSync(model.folder).sort(), files);
  const sizes = files.map((file) => readFileSync(join(model.folder, file)).length);
  const total = sizes.reduce((sum, size) => sum + size);
  assert.equal(progress.at(-1), { event: "downloading", model: "reatt/mini", bytes: total, total });
  const bytes = progress.map((event) => (event.event === "downloading" ? event.bytes : 0));
  assert.equal(
    bytes,
    bytes.toSorted((a, b) => a - b),
  );

  hub.requests.length = 0;
  assert.is(await locateModel("reatt/mini"), model.folder);
  assert.equal(hub.requests, ["GET /api/models/reatt/mini/revision/main"]);
});

test("the cache has the layout of the Python library", async () => {
  const path = await locateModel("reatt/small");
  const repository = cache("models--reatt--small");
  assert.is(readFileSync(join(repository, "refs", "main"), "utf8"), COMMIT);
  for (const file of readdirSync(path)) {
    assert.ok(lstatSync(join(path, file)).isSymbolicLink());
    assert.match(readlinkSync(join(path, file)), /^\.\.\/\.\.\/blobs\/([\da-f]{40}|[\da-f]{64})$/);
  }
  // printf pieces | git hash-object --stdin
  assert.is(
    readlinkSync(join(path, "spiece.model")),
    "../../blobs/a7dbc56cd058126bc8971935739703f19d94e903",
  );
  assert.is(readdirSync(join(repository, "blobs")).length, 3);
  assert.equal(readdirSync(cache(".locks", "models--reatt--small")), []);
});

test("shards and torch files are downloaded, but no files beside them", async () => {
  const sharded = readdirSync(await locateModel("reatt/sharded")).sort();
  assert.equal(sharded, [
    "config.json",
    "model.safetensors.index.json",
    "one.safetensors",
    "spiece.model",
    "two.safetensors",
  ]);
  const torch = readdirSync(await locateModel("reatt/torch")).sort();
  assert.equal(torch, ["config.json", "pytorch_model.bin", "spiece.model"]);
});

test("a revision is a branch, a tag, a pull request or a commit", async () => {
  assert.match(await locateModel("reatt/small"), COMMIT);
  assert.match(await locateModel("reatt/small@refs/pr/1"), OLD);
  assert.match(await locateModel(`reatt/small@${OLD}`), OLD);
  assert.is(readFileSync(cache("models--reatt--small", "refs", "refs", "pr", "1"), "utf8"), OLD);
  hub.requests.length = 0;
  await locateModel(`reatt/small@${OLD}`);
  assert.equal(hub.requests, []); // a commit never changes
  await refused("reatt/small@v9", /expected a model with the revision v9, got none/);
});

test("the variables of the Python library choose the cache", async () => {
  const at = (name: string) => join(folder, name);
  const repository = "models--reatt--torch";
  const finds = async (path: string) =>
    assert.is(await locateModel("reatt/torch"), join(path, repository, "snapshots", COMMIT));
  process.env.XDG_CACHE_HOME = at("xdg");
  delete process.env.HF_HOME;
  await finds(join(at("xdg"), "huggingface", "hub"));
  process.env.HF_HOME = at("home");
  await finds(join(at("home"), "hub"));
  process.env.HUGGINGFACE_HUB_CACHE = at("old");
  await finds(at("old"));
  process.env.HF_HUB_CACHE = at("new");
  await finds(at("new"));
  process.env.HF_ENDPOINT = "nonsense";
  await refused("reatt/torch", /^HF_ENDPOINT: expected the address of a hub/);
});

test("offline and without a connection, the cached model is used", async () => {
  process.env.HF_HUB_OFFLINE = "1";
  await refused(
    "reatt/torch",
    /^reatt\/torch: expected .*, got neither, and HF_HUB_OFFLINE is set/,
  );
  assert.equal(hub.requests, []);
  delete process.env.HF_HUB_OFFLINE;
  const path = await locateModel("reatt/torch");
  const closed = await startHub({});
  await closed[Symbol.asyncDispose]();
  process.env.HF_ENDPOINT = closed.url;
  assert.is(await locateModel("reatt/torch"), path);
  await refused("reatt/small", /a reply of http:\S+, got .*ECONNREFUSED/);
  process.env.HF_HUB_OFFLINE = "TRUE";
  assert.is(await locateModel("reatt/torch"), path);
  // a snapshot of which a file is missing is no model
  rmSync(join(path, "pytorch_model.bin"));
  await refused("reatt/torch", /HF_HUB_OFFLINE/);
});

test("private and gated models need a token", async () => {
  await refused(
    "reatt/private",
    /expected a folder, or a model of \S+, got neither \(status 401\)/,
  );
  await refused(
    "reatt/gated",
    /got a gated one; accept its conditions at \S+\/reatt\/gated and set/,
  );
  process.env.HF_TOKEN = "hf_other";
  await refused("reatt/private", /neither that HF_TOKEN may read/);
  process.env.HF_TOKEN = "secret";
  await refused("reatt/private", /^HF_TOKEN: expected a token of the hub, which begins with hf_/);
  delete process.env.HF_TOKEN;
  mkdirSync(process.env.HF_HOME!, { recursive: true });
  writeFileSync(join(process.env.HF_HOME!, "token"), `${TOKEN}\n`);
  await locateModel("reatt/private");
  await locateModel("reatt/gated");
});

test("what is no model for reatt is refused with one line", async () => {
  await refused("reatt/none", /expected a folder, or a model of \S+, got neither \(status 401\)/);
  await refused("reatt/no-tokenizer", /expected a file spiece\.model, got none; name a T5 with/);
  await refused("reatt/fast-only", /expected weights as safetensors or pytorch_model\.bin, got/);
  await refused("reatt/tf", /expected weights as safetensors or pytorch_model\.bin, got none/);
  await refused("reatt/lacks", /expected a file one\.safetensors, got none/);
});

test("a folder of that name wins", async () => {
  const before = process.cwd();
  mkdirSync(join(folder, "cwd", "reatt", "small"), { recursive: true });
  process.chdir(join(folder, "cwd"));
  try {
    assert.is(await locateModel("reatt/small"), "reatt/small");
    assert.equal(hub.requests, []);
  } finally {
    process.chdir(before);
  }
});

const ranges = () =>
  hub.requests.flatMap((request) => /\/cdn\/\S+ bytes=([1-9]\d*)-/.exec(request)?.[1] ?? []);
/** Sends the first bytes and closes the connection. */
const cut: (bytes: number) => Fault = (bytes) => (request, response) => {
  if (request.headers.range === "bytes=0-0") return false; // asks for the size
  const first = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const range = `bytes ${first}-${weights.length - 1}/${weights.length}`;
  response.writeHead(first ? 206 : 200, {
    "Content-Length": weights.length - first,
    ...(first && { "Content-Range": range }),
  });
  response.write(weights.subarray(first, first + bytes), () => response.destroy());
  return true;
};

test("a lost connection is resumed where it broke", async () => {
  hub.fault = cut(100_000);
  const path = await locateModel("reatt/torch");
  assert.ok(readFileSync(join(path, "pytorch_model.bin")).equals(weights));
  assert.equal(ranges(), ["100000", "200000"]);
});

test("a stopped download is resumed by the next one", async () => {
  const abort = new AbortController();
  hub.fault = (request, response, file) => {
    if (request.headers.range === "bytes=0-0") return false;
    response.writeHead(200).write(weights.subarray(0, 120_000));
    void file; // and nothing more
    return true;
  };
  const onProgress = (event: DownloadProgress) => {
    if (event.event === "downloading" && event.bytes >= 120_000) abort.abort(new Error("enough"));
  };
  try {
    await locateModel("reatt/torch", { signal: abort.signal, onProgress });
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, "enough");
  }
  assert.not(existsSync(cache("models--reatt--torch", "refs")));
  hub.fault = undefined;
  const path = await locateModel("reatt/torch");
  assert.ok(readFileSync(join(path, "pytorch_model.bin")).equals(weights));
  assert.equal(ranges(), ["120000"]);
});

test("a server that ignores the position sends the whole file again", async () => {
  let connections = 0;
  hub.fault = (request, response, file) => {
    if (request.headers.range === "bytes=0-0") return false;
    if (connections++ === 0) return cut(100_000)(request, response, file);
    response.writeHead(200).end(weights);
    return true;
  };
  const path = await locateModel("reatt/torch");
  assert.ok(readFileSync(join(path, "pytorch_model.bin")).equals(weights));
});

test("a file with another hash is rejected and not kept", async () => {
  hub.fault = (request, response) => {
    if (request.headers.range === "bytes=0-0") return false;
    response.writeHead(200).end(Buffer.alloc(weights.length));
    return true;
  };
  await refused("reatt/torch", /^reatt\/torch: pytorch_model\.bin: expected 300000 bytes with the/);
  const blobs = readdirSync(cache("models--reatt--torch", "blobs"));
  assert.equal(
    blobs.filter((name) => name.length > 40),
    [],
  );
  assert.not(existsSync(cache("models--reatt--torch", "refs")));
});

test("a busy hub ends a download after some attempts", async () => {
  hub.fault = (_, response) => {
    response.writeHead(503).end();
    return true;
  };
  await refused("reatt/torch", /^reatt\/torch: expected .*, got status 503/);
});

/** A process that locates a model. */
function locating(name: string): { child: ChildProcess; folder: Promise<string> } {
  const program = `
    import { locateModel } from "${programFile("src/hub/locate-model.ts")}";
    const onProgress = (progress) => process.send(progress);
    process.stdout.write(await locateModel("${name}", { onProgress }));
    process.disconnect();`;
  const child = spawn(process.execPath, [...LOADER, "--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let output = "";
  child.stdout!.on("data", (data) => {
    output += data;
  });
  return { child, folder: new Promise((done) => child.on("close", () => done(output))) };
}

test("two processes download a model once; one takes over when the other is killed", async () => {
  let held: (() => void) | undefined;
  hub.fault = (request, response) => {
    if (request.headers.range === "bytes=0-0" || held) return false;
    response.writeHead(200, { "Content-Length": weights.length });
    response.write(weights.subarray(0, 50_000));
    held = () => response.end(weights.subarray(50_000));
    return true;
  };
  const first = locating("reatt/small");
  await new Promise<void>((done) =>
    first.child.on("message", ({ bytes }: { bytes: number }) => {
      if (bytes > 50_000) done();
    }),
  );
  const second = locating("reatt/small");
  await new Promise<void>((done) =>
    second.child.on("message", ({ event }: DownloadProgress) => {
      if (event === "waiting") done();
    }),
  );
  first.child.kill("SIGKILL");
  const path = await second.folder;
  assert.ok(readFileSync(join(path, "model.safetensors")).equals(weights));
  assert.equal(ranges(), ["50000"]);
  const [third, fourth] = [locating("reatt/torch"), locating("reatt/torch")];
  assert.is(await third.folder, await fourth.folder);
  const content = hub.requests.filter((line) => line.startsWith("GET /cdn/reatt/torch"));
  assert.is(content.filter((line) => !line.endsWith("bytes=0-0")).length, 1);
});

test("several runs record the commit of a branch at once", async () => {
  const path = await locateModel("reatt/small");
  for (let round = 0; round < 5; round++) {
    rmSync(cache("models--reatt--small", "refs"), { recursive: true });
    const paths = await Promise.all(Array.from({ length: 8 }, () => locateModel("reatt/small")));
    assert.equal(new Set(paths), new Set([path]));
    assert.is(readFileSync(cache("models--reatt--small", "refs", "main"), "utf8"), COMMIT);
  }
});

test("available models are the embedded one and the complete ones in the cache", async () => {
  const names = async () => (await availableModels()).map(({ name }) => name);
  assert.equal(await names(), [undefined]);
  await locateModel("reatt/small");
  await locateModel(`reatt/small@${OLD}`);
  await locateModel("reatt/torch@refs/pr/1");
  mkdirSync(cache("models--bert--base", "snapshots", COMMIT), { recursive: true });
  mkdirSync(cache("datasets--squad", "snapshots", COMMIT), { recursive: true });
  const expected = [undefined, "reatt/small", `reatt/small@${OLD}`, "reatt/torch@refs/pr/1"];
  assert.equal(await names(), expected);
  const [mini, model] = await availableModels();
  assert.ok(mini!.bytes > 30_000_000);
  assert.is(model!.bytes, weights.length + 8);
});

test.run();
