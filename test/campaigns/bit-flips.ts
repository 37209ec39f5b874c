/**
 * Flipped bits and cut files: every file of a float32 index and of a compressed one.
 *
 *     npx tsx test/campaigns/bit-flips.ts --count 10000 --seed 1
 *
 * A damaged index gives the answers of the whole one or an InputError that names the file. The
 * verification names the file in any case. The first campaign damaged 10,000 files.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { InputError } from "../../src/io/errors.ts";
import { createRandom } from "../../src/math/random.ts";
import { manifestPath } from "../../src/retrieval/index/format/manifest.ts";
import { deletePassages, verifyIndex } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import {
  build,
  encodeText,
  encodeVaried,
  makePassages,
  withMetadata,
} from "../retrieval/support.ts";
import { addingStates, statesHeader } from "../retrieval/toy-states.ts";
import { campaignFolder, runCampaign, type Tries } from "./campaign.ts";
import { filesBelow } from "./files-below.ts";

const PASSAGES = 120;

await runCampaign({
  script: import.meta.url,
  unit: "damaged files",
  standardCount: 100,
  hungAfter: 600,
  maxBytes: 1e9,
  open: ({ seed }) => damages(seed),
});

interface Subject {
  readonly directory: string;
  readonly path: string;
  readonly answer: unknown;
}

async function damages(seed: number): Promise<Tries> {
  const folder = campaignFolder("flips");
  const counts = { "bit flips": 0, cuts: 0, errors: 0, "same answers": 0 };
  const files = (
    await Promise.all(
      ([undefined, 2] as const).map((bits) => makeIndex(join(folder, `${bits}`), bits)),
    )
  ).flat();
  return {
    attempt: (number) => damage(files[number % files.length]!, number),
    close: async () => counts,
  };

  async function damage({ directory, path, answer }: Subject, number: number): Promise<void> {
    const random = createRandom(seed, "bit flips", number);
    const whole = await readFile(path);
    const cut = random.integer(10) === 0;
    const position = random.integer(whole.length);
    const damaged = Buffer.from(cut ? whole.subarray(0, position) : whole);
    const bit = 1 << random.integer(8);
    if (!cut) damaged[position]! ^= bit;
    await writeFile(path, damaged);
    counts[cut ? "cuts" : "bit flips"]++;
    const outcome = await answers(directory).catch((error: unknown) => error);
    const found = await verifyIndex(directory).catch((error: unknown) => error as Error);
    await writeFile(path, whole);
    const what = `${path}, ${cut ? "cut at" : `bit ${bit} of`} byte ${position}`;
    if (outcome instanceof Error) {
      counts.errors++;
      if (!(outcome instanceof InputError) || !outcome.message.startsWith(path))
        throw new Error(what, { cause: outcome });
    } else {
      counts["same answers"]++;
      if (!isDeepStrictEqual(outcome, answer)) throw new Error(`${what}: other answers`);
    }
    const named = found instanceof Error ? found.message : found.map(({ path }) => path).join();
    // a changed space between the fields of index.json is no damage
    if (!named.startsWith(path) && path !== manifestPath(directory))
      throw new Error(`${what}: not found`);
  }
}

async function makeIndex(directory: string, bits: 2 | undefined): Promise<Subject[]> {
  const options = bits
    ? { bits, header: statesHeader, encode: addingStates(encodeVaried) }
    : { encode: encodeVaried };
  await build(directory, withMetadata(makePassages(PASSAGES)), options);
  await deletePassages(["p3", "p77"], { directory });
  const answer = await answers(directory);
  return filesBelow(directory).map((path) => ({ directory, path, answer }));
}

async function answers(directory: string): Promise<unknown> {
  await using index = await openIndex(directory, { threads: 1 });
  const hits = await index.search(encodeText("w1 w2 w3"), { topK: 10 });
  const words = await (await index.words())!.rank("w1 w2 w3 w5 w7 w11", 10, {});
  const passages = [];
  const states = [];
  for await (const [ordinal, passage] of index.entries()) {
    passages.push(passage);
    states.push((await index.states([ordinal]))?.[0]?.unpack());
  }
  const matches = await index.matching({ lang: "en" });
  const english = passages.map((_, ordinal) => matches(ordinal));
  return [
    hits,
    words,
    passages,
    states,
    english,
    await index.find("p99"),
    await index.find("none"),
  ];
}
