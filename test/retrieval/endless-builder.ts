/** A process for build.test.ts to kill: builds one generation after the other in the directory of its argument. */

import { setTimeout as sleep } from "node:timers/promises";
import { findManifest } from "../../src/retrieval/manifest.ts";
import { build, encode, makePassages } from "./support.ts";

const directory = process.argv[2]!;

process.stdout.write("started\n");
while (true) {
  const generation = ((await findManifest(directory))?.generation ?? 0) + 1;
  await build(directory, makePassages(1600, generation), {
    encode: async (passages) => {
      await sleep(5); // so that a moment in the middle of a build is likely
      return encode(passages);
    },
  });
}
