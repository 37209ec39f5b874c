/** Hubs that are silent, slow, endless or not the hub, and caches that others have changed. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { locateModel } from "../../src/hub/locate-model.ts";
import { InputError } from "../../src/io/errors.ts";
import { startHub } from "../support/hub-server.ts";

const COMMIT = "a".repeat(40);
const NEWER = "b".repeat(40);
const NAME = "reatt/small";
const weights = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) >> 3));
const files = {
  "config.json": Buffer.from("{}"),
  "spiece.model": Buffer.from("pieces"),
  "model.safetensors": weights,
};
const hub = await startHub({
  [NAME]: { refs: { main: COMMIT }, files },
  "reatt/newer": { refs: { main: NEWER }, files },
});

type Misbehave = (request: IncomingMessage, response: ServerResponse) => void;

/** What is done to requests whose path matches; others go to the hub. */
let fault: { readonly path: RegExp; readonly misbehave: Misbehave } | undefined;
const between = createServer((request, response) => {
  if (fault?.path.test(request.url!)) fault.misbehave(request, response);
  else response.writeHead(307, { Location: `${hub.url}${request.url}` }).end();
});
await new Promise<void>((done) => between.listen(0, "127.0.0.1", done));
const folder = mkdtempSync(join(tmpdir(), "reatt-bad-hub-"));
process.env.HF_ENDPOINT = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
test.after(async () => {
  await hub[Symbol.asyncDispose]();
  between.closeAllConnections();
  between.close();
  rmSync(folder, { recursive: true });
});

let caches = 0;
function newCache(): string {
  const cache = join(folder, `cache-${caches++}`);
  mkdirSync(cache);
  process.env.HF_HUB_CACHE = cache;
  return cache;
}

const blobFolder = (cache: string): string => join(cache, "models--reatt--small", "blobs");
const HASH = createHash("sha256").update(weights).digest("hex");

/** The folder of the model, or the message of the error, with little time. */
async function refusal(seconds = "0.3"): Promise<string> {
  process.env.HF_HUB_DOWNLOAD_TIMEOUT = seconds;
  try {
    return await locateModel(NAME);
  } catch (error) {
    assert.instance(error, InputError);
    return (error as InputError).message;
  } finally {
    delete process.env.HF_HUB_DOWNLOAD_TIMEOUT;
  }
}

const isModel = (found: string): boolean =>
  readFileSync(join(found, "model.safetensors")).equals(weights);

const drip: Misbehave = (_, response) => {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": 300_000 });
  const timer = setInterval(() => response.write(" "), 20);
  response.once("close", () => clearInterval(timer));
};
const page: Misbehave = (_, response) =>
  response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Log in</html>");
const json =
  (value: unknown): Misbehave =>
  (_, response) =>
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
const endlessPages: Misbehave = (request, response) => {
  const next = `http://${request.headers.host}${request.url}&cursor=${Math.random()}`;
  const entries = Array.from({ length: 1_000 }, () => ({
    ...{ type: "file", path: `${Math.random()}`, oid: COMMIT, size: 1 },
  }));
  response
    .writeHead(200, { "Content-Type": "application/json", Link: `<${next}>; rel="next"` })
    .end(JSON.stringify(entries));
};
const endlessReply: Misbehave = (_, response) => {
  response.writeHead(200, { "Content-Type": "application/json" });
  const chunk = Buffer.alloc(1_000_000, " ");
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", write);
  };
  write();
};
const FAULTS: Readonly<Record<string, Misbehave>> = {
  silent: () => {},
  "silent after its head": (_, response) => {
    response.writeHead(200, { "Content-Type": "application/json" }).flushHeaders();
  },
  "slow, a byte at a time": drip,
  "a page to log in": page,
  "a page to log in with status 403": (_, response) =>
    response.writeHead(403, { "Content-Type": "text/html" }).end("<html>Log in</html>"),
  "a closed connection": (request) => request.socket.destroy(),
  null: json(null),
  "a list of null": json([null]),
  "another object": json({ sha: 7 }),
  "entries without names": json([{ type: "file" }, { type: "file", path: 3, oid: {} }]),
  "an endless reply": endlessReply,
};

const PATHS = {
  "the commit": /^\/api\/models\/[^?]*\/revision\//,
  "the list of files": /^\/api\/models\/[^?]*\/tree\//,
  "a file": /\/resolve\/.*model\.safetensors/,
};

for (const [place, path] of Object.entries(PATHS))
  for (const [kind, misbehave] of Object.entries({
    ...FAULTS,
    ...(place === "the list of files" && { "endless pages": endlessPages }),
  }))
    test(`${place}: ${kind}`, async () => {
      newCache();
      fault = { path, misbehave };
      const message = await refusal();
      assert.match(message, /^reatt\/small.*: expected /);
      fault = undefined;
      assert.ok(isModel(await locateModel(NAME)), "the next download repairs it");
      fault = { path: PATHS["the commit"], misbehave };
      assert.ok(isModel(await refusal()), "without the hub, the cache is used");
    });

test("a link, another name or a pipe at the place of a part is not followed", async () => {
  fault = undefined;
  const victim = join(folder, "victim");
  const make = {
    link: (part: string) => symlinkSync(victim, part),
    "dangling link": (part: string) => symlinkSync(join(folder, "new"), part),
    "another name": (part: string) => linkSync(victim, part),
    pipe: (part: string) => execFileSync("mkfifo", [part]),
    folder: (part: string) => mkdirSync(part),
  };
  for (const [kind, create] of Object.entries(make)) {
    writeFileSync(victim, "mine");
    const blobs = blobFolder(newCache());
    mkdirSync(blobs, { recursive: true });
    create(join(blobs, `${HASH}.reatt.incomplete`));
    assert.ok(isModel(await locateModel(NAME)), kind);
    assert.is(readFileSync(victim, "utf8"), "mine", kind);
  }
});

test("a blob of the right size and another content is downloaded again", async () => {
  const blobs = blobFolder(newCache());
  mkdirSync(blobs, { recursive: true });
  writeFileSync(join(blobs, HASH), Buffer.alloc(weights.length));
  const snapshot = join(blobs, "..", "snapshots", COMMIT);
  mkdirSync(snapshot, { recursive: true });
  writeFileSync(join(snapshot, "spiece.model"), "PIECES"); // of the right size too
  const found = await locateModel(NAME);
  assert.ok(isModel(found));
  assert.is(readFileSync(join(found, "spiece.model"), "utf8"), "pieces");
});

test("a part of another file is downloaded again at once", async () => {
  const blobs = blobFolder(newCache());
  mkdirSync(blobs, { recursive: true });
  writeFileSync(join(blobs, `${HASH}.reatt.incomplete`), Buffer.alloc(1_000, 7));
  assert.ok(isModel(await locateModel(NAME)));
});

test("a time limit that is no number", async () => {
  for (const bad of ["x", "0", "-1", "1e9"])
    assert.match(await refusal(bad), /^HF_HUB_DOWNLOAD_TIMEOUT: expected a number of seconds/);
});

test.run();
