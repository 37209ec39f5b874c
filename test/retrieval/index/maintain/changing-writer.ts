/**
 * A process that changes the index in the directory of its argument until it is told to stop, for
 * verify.test.ts and the campaigns.
 */

import { readManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import { compactIndex } from "../../../../src/retrieval/index/maintain/compact.ts";
import { change } from "./small-changes.ts";

const directory = process.argv[2]!;

let stopped = false;
process.once("message", () => {
  stopped = true;
});

while (!stopped) {
  const { generation } = await readManifest(directory);
  await change(directory, generation + 1);
  if (generation % 8 === 0) await compactIndex(directory);
}
process.disconnect();
