/**
 * A process for writer-kills.ts to kill. It changes the index in the directory of its argument and
 * waits where another process writes it: adds, deletes, compactions and compressed builds.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { InputError } from "../../src/io/errors.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { compactIndex } from "../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../src/retrieval/index/maintain/update.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import { build, encodeVaried, header, makePassages } from "../retrieval/support.ts";
import { endWithParent } from "./end-with-parent.ts";

const directory = process.argv[2]!;
const seed = Number(process.argv[3]);
const options = {
  header,
  encode: async (passages: Parameters<typeof encodeVaried>[0]) => {
    await sleep(5); // so that a kill during encoding is likely
    return encodeVaried(passages);
  },
};

endWithParent();
process.stdout.write("started\n");
for (let turn = seed; ; turn++) {
  const generation = (await findManifest(directory))?.generation ?? 0;
  try {
    if (generation === 0 || turn % 10 === 0)
      await build(directory, makePassages(200, turn), { ...options, bits: 2 });
    else if (turn % 5 === 0) await compactIndex(directory);
    else if (turn % 2 === 0)
      await deletePassages([`p${turn % 200}`, `p${(turn * 7) % 200}`], { directory });
    else await addPassages(makePassages(4, turn), { directory, ...options });
  } catch (error) {
    if (!(error instanceof InputError) || !error.message.includes("no other writer")) throw error;
  }
}
