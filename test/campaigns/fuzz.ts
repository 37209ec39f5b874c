/**
 * Gives random and mutated files to all readers:
 *
 *     npx tsx test/campaigns/fuzz.ts --count 100000 [--seed 1] [--from 0]
 *
 * Each file must be read or end in an `InputError` of one line, within bounded time and memory. An
 * input depends only on the seed and its number: `--from N --count 1` repeats number N.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../src/io/errors.ts";
import { createRandom } from "../../src/math/random.ts";
import { campaignFolder, campaignOptions, startProgress } from "./campaign.ts";
import { fuzzedReaders } from "./fuzzed-readers.ts";

const MAX_MESSAGE = 5_000; // characters
const MAX_SECONDS = 10; // of the processor: the machine may be busy
const MAX_BYTES = 3e9; // resident memory of the process

const { count, from, seed } = campaignOptions(20_000);
const progress = startProgress("inputs", count);
const folder = campaignFolder("fuzz");
const readers = await fuzzedReaders(folder);
for (const { name } of readers) mkdirSync(join(folder, name));
const shares = readers.flatMap(({ share }, index) => Array<number>(share).fill(index));
const counts = readers.map(({ name }) => ({
  name,
  inputs: 0,
  read: 0,
  failures: 0,
  slowest: 0,
  slowestNumber: 0,
}));

for (let number = from; number < from + count; number++) {
  const random = createRandom(seed, "fuzz", number);
  const index = shares[random.integer(shares.length)]!;
  const [reader, counter] = [readers[index]!, counts[index]!];
  counter.inputs++;
  for (const [name, bytes] of Object.entries(reader.make(random)))
    writeFileSync(join(folder, reader.name, name), bytes);
  const start = process.cpuUsage();
  let problem: string | undefined;
  try {
    await reader.read();
    counter.read++;
  } catch (error) {
    problem = judge(error);
  }
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  if (seconds > counter.slowest)
    Object.assign(counter, { slowest: seconds, slowestNumber: number });
  if (seconds > MAX_SECONDS) problem = `took ${seconds.toFixed(1)} s`;
  if (process.memoryUsage.rss() > MAX_BYTES) problem = "too much memory";
  if (problem !== undefined && counter.failures++ < 5)
    console.log(`FAILED ${reader.name}, number ${number}: ${problem}`);
  progress(number - from + 1);
}

for (const { name, inputs, read, failures, slowest, slowestNumber } of counts)
  console.log(
    `${name}: inputs ${inputs}, read ${read}, rejected ${inputs - read - failures}, ` +
      `failures ${failures}, slowest ${slowest.toFixed(2)} s (number ${slowestNumber})`,
  );
const failures = counts.reduce((sum, counter) => sum + counter.failures, 0);
const memory = Math.round(process.resourceUsage().maxRSS / 1_000);
console.log(`seed ${seed}, inputs ${count}, most memory ${memory} MB, failures ${failures}`);
process.exit(failures > 0 ? 1 : 0);

/** Says what is wrong with an error, or nothing if it is the error of a bad input. */
function judge(error: unknown): string | undefined {
  if (!(error instanceof InputError)) return String((error as Error)?.stack ?? error);
  const { message } = error;
  if (/[\n\r\u2028\u2029]/.test(message)) return `more than one line: ${message}`;
  if (message.length > MAX_MESSAGE) return `a message of ${message.length} characters`;
  return undefined;
}
