/**
 * PostgreSQL is stopped, killed and started again under synchronisations, additions and searches.
 *
 *     npx tsx test/campaigns/postgres-kills.ts --count 200 --seed 1
 *
 * Each try has a collection of its own. A writer gives it one version after the other of a
 * document, in synchronisations that wait for the server, and adds and deletes passages beside it.
 * Readers search meanwhile. Then
 *
 * - a change that was reported as complete is there, and one that failed is there whole or not
 *   (but for additions, of which a part may be there);
 * - each search found one version of the document, with its texts, or ended in one line;
 * - the collection is whole.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createRandom, type Random } from "../../src/math/random.ts";
import { childrenOf, openPostgresServer, type PostgresServer } from "../support/postgres-server.ts";
import { runCampaign, type Tries } from "./campaign.ts";
import { VersionedDocument } from "./versioned-document.ts";

/** The longest time before a fault, and before the server is started again. */
const FAULT_MS = 2_000;
const AWAY_MS = 1_000;

await runCampaign({
  script: import.meta.url,
  unit: "restarts",
  standardCount: 20,
  hungAfter: 600,
  maxBytes: 1e9,
  open: ({ seed }) => restarts(seed),
});

async function restarts(seed: number): Promise<Tries> {
  const counts = { changes: 0, "failed changes": 0, searches: 0, "failed searches": 0, skipped: 0 };
  const server = await openPostgresServer();
  if (typeof server === "string") {
    console.log(`skipped: PostgreSQL: ${server}`);
    const attempt = async (): Promise<void> => void counts.skipped++;
    return { attempt, close: async () => counts };
  }
  const attempt = async (number: number): Promise<void> => {
    const random = createRandom(seed, "restart", number);
    const address = `${server.url}/postgres/t${number}`;
    const document = await VersionedDocument.create(address, counts);
    const readers = [0.5, undefined].map((lambda) => document.read(lambda));
    const writing = document.write(random).finally(() => document.stop());
    const results = await Promise.allSettled([fault(server, random), writing, ...readers]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    await document.check();
  };
  return {
    attempt,
    async close() {
      await server[Symbol.asyncDispose]();
      return counts;
    },
  };
}

/** Ends the server, or one of its processes, in one of four ways, and starts it again. */
async function fault(server: PostgresServer, random: Random): Promise<void> {
  await sleep(random.integer(FAULT_MS));
  const kind = random.integer(4);
  if (kind === 0) {
    const children = childrenOf(server.pid);
    process.kill(children[random.integer(children.length)]!, "SIGKILL"); // it begins anew by itself
    return;
  }
  if (kind === 1) await server.kill();
  else await server.end(kind === 2 ? "SIGINT" : "SIGQUIT");
  await sleep(random.integer(AWAY_MS));
  await server.start();
}
