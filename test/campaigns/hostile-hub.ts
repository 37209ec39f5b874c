/**
 * Downloads of a model from a hub that misbehaves: each reply may be silent, slow, endless, cut,
 * changed, a page to log in, another status, or a redirection in a circle.
 *
 *     npx tsx test/campaigns/hostile-hub.ts --count 1000 --seed 1
 *
 * A download must give the whole model or an `InputError` of one line within its time limit. The
 * next one, from a hub that behaves, must give the whole model, whatever is in the cache.
 */

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { locateModel } from "../../src/hub/locate-model.ts";
import { InputError } from "../../src/io/errors.ts";
import { createRandom, type Random } from "../../src/math/random.ts";
import { startHub } from "../support/hub-server.ts";
import { campaignFolder, Failed, runCampaign, type Tries } from "./campaign.ts";

const NAME = "reatt/small";
const FILES = {
  "config.json": Buffer.from("{}"),
  "spiece.model": Buffer.from("pieces"),
  "model.safetensors": Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) >> 3)),
};
/** Seconds without progress that end a download. */
const LIMIT_S = 0.3;
/** A download has several files, of which each may be tried again; the machine may be busy. */
const HUNG_MS = 60_000;

type Fault = (request: IncomingMessage, response: ServerResponse, random: Random) => void;

const json = (value: unknown): Fault => {
  const head = { "Content-Type": "application/json" };
  return (_, response) => response.writeHead(200, head).end(JSON.stringify(value));
};
const FAULTS: readonly Fault[] = [
  () => {},
  (_, response) => response.writeHead(200).flushHeaders(),
  (_, response) => {
    const timer = setInterval(() => response.write(" "), 20);
    response.writeHead(200).once("close", () => clearInterval(timer));
  },
  (_, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(100_000, "[")));
      if (!response.destroyed) response.once("drain", write);
    };
    write();
  },
  (request) => request.socket.destroy(),
  (request) => request.socket.resetAndDestroy(),
  (_, response, random) =>
    response.writeHead([400, 401, 403, 404, 416, 429, 500, 503][random.integer(8)]!).end("no"),
  (_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Log in"),
  (request, response) => response.writeHead(302, { Location: request.url }).end(),
  (_, response) => response.writeHead(302, { Location: "http://127.0.0.1:1/" }).end(),
  (_, response, random) => response.end(Buffer.alloc(random.integer(400_000), 7)),
  (_, response) => {
    response.writeHead(200, { "Content-Length": "300000" }).write("half");
    response.destroy();
  },
  json(null),
  json([{ type: "file", path: "../../x", size: 1, oid: "a".repeat(40) }]),
  json({ sha: "../../x" }),
];

await runCampaign({
  script: import.meta.url,
  unit: "downloads",
  standardCount: 100,
  hungAfter: 600,
  maxBytes: 1e9,
  open: ({ seed }) => downloads(seed),
});

async function downloads(seed: number): Promise<Tries> {
  const folder = campaignFolder("hub");
  const counts = { faults: 0, models: 0, errors: 0 };
  const hub = await startHub({ [NAME]: { refs: { main: "a".repeat(40) }, files: FILES } });
  let random: Random | undefined;
  const between = createServer((request, response) => {
    response.on("error", () => {});
    if (random === undefined || random.integer(3) > 0)
      response.writeHead(307, { Location: `${hub.url}${request.url}` }).end();
    else {
      counts.faults++;
      FAULTS[random.integer(FAULTS.length)]!(request, response, random);
    }
  });
  await new Promise<void>((done) => between.listen(0, "127.0.0.1", done));
  process.env.HF_ENDPOINT = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
  process.env.HF_HUB_DOWNLOAD_TIMEOUT = `${LIMIT_S}`;
  return {
    async attempt(number) {
      const cache = join(folder, `${number}`);
      mkdirSync(cache);
      process.env.HF_HUB_CACHE = cache;
      random = createRandom(seed, "hostile hub", number);
      const start = performance.now();
      await locateModel(NAME).then(checkModel, checkError);
      const milliseconds = performance.now() - start;
      if (milliseconds > HUNG_MS) throw new Failed("hung", `${milliseconds} ms`);
      random = undefined;
      process.env.HF_HUB_DOWNLOAD_TIMEOUT = "30";
      await checkModel(await locateModel(NAME));
      process.env.HF_HUB_DOWNLOAD_TIMEOUT = `${LIMIT_S}`;
      rmSync(cache, { recursive: true });
    },
    async close() {
      between.closeAllConnections();
      between.close();
      await hub[Symbol.asyncDispose]();
      return counts;
    },
  };

  function checkModel(found: string): void {
    counts.models++;
    for (const [name, bytes] of Object.entries(FILES))
      if (!readFileSync(join(found, name)).equals(bytes)) throw new Error(`another ${name}`);
  }

  function checkError(error: unknown): void {
    counts.errors++;
    if (!(error instanceof InputError) || /[\r\n]/.test(error.message)) throw error;
  }
}
