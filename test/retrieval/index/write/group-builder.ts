/**
 * A process for partial-window.test.ts to kill: builds an index slowly in the directory of its
 * argument, and first sends the number of passages that earlier processes have encoded.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { build } from "../../support.ts";
import { CORPUS, groupEncoder } from "./group-encoder.ts";

let sent = false;
const send = (known: number): void => {
  if (!sent) process.send!(known);
  sent = true;
};

await build(process.argv[2]!, CORPUS, {
  ...groupEncoder({ onGroup: () => sleep(120) }),
  onProgress: ({ event, passages }) => send(event === "encoded" ? 0 : passages),
});
process.disconnect();
