/**
 * Gives random and mutated files to all readers:
 *
 *     npx tsx test/campaigns/fuzz.ts --count 1000000 [--seed 1] [--from 0]
 *
 * Each file must be read or end in an `InputError` of one line, within bounded time and memory. An
 * input depends only on the seed and its number: `--from N --count 1` repeats number N. The first
 * campaign had 1,000,000 inputs.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../src/io/errors.ts";
import { createRandom } from "../../src/math/random.ts";
import { campaignFolder, Failed, runCampaign, type Tries } from "./campaign.ts";
import { fuzzedReaders } from "./fuzzed-readers.ts";

const MAX_MESSAGE = 5_000; // characters
const MAX_SECONDS = 10; // of the processor: the machine may be busy

await runCampaign({
  script: import.meta.url,
  unit: "inputs",
  standardCount: 20_000,
  hungAfter: 600,
  maxBytes: 1.5e9,
  open: ({ seed }) => inputs(seed),
});

async function inputs(seed: number): Promise<Tries> {
  const folder = campaignFolder("fuzz");
  const readers = await fuzzedReaders(folder);
  for (const { name } of readers) mkdirSync(join(folder, name));
  const shares = readers.flatMap((reader) => Array(reader.share).fill(reader));
  const counts: Record<string, number> = { read: 0, rejected: 0 };
  for (const { name } of readers) counts[name] = 0;
  return { attempt, close: async () => counts };

  async function attempt(number: number): Promise<void> {
    const random = createRandom(seed, "fuzz", number);
    const { name, make, read } = shares[random.integer(shares.length)]!;
    counts[name]!++;
    for (const [file, bytes] of Object.entries<Buffer>(make(random)))
      writeFileSync(join(folder, name, file), bytes);
    const start = process.cpuUsage();
    try {
      await read();
      counts.read!++;
    } catch (error) {
      judge(error, name);
      counts.rejected!++;
    }
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    if (seconds > MAX_SECONDS) throw new Failed("hung", `${name} took ${seconds.toFixed(1)} s`);
  }
}

/** @throws unless this is the error of a bad input */
function judge(error: unknown, reader: string): void {
  if (!(error instanceof InputError) || error.code === "ERR_REATT_DEFECT") {
    const thrown = error instanceof InputError ? error.cause : error;
    throw new Error(`${reader}: ${(thrown as Error)?.stack ?? thrown}`);
  }
  const { message } = error;
  if (/[\n\r\u2028\u2029]/.test(message)) throw new Error(`${reader}: lines: ${message}`);
  if (message.length > MAX_MESSAGE) throw new Error(`${reader}: ${message.length} characters`);
}
