/**
 * A process for compress.test.ts to kill: builds a compressed index in the directory of its
 * argument and sends its progress.
 */

import { build } from "../../support.ts";
import { COMPRESSED, CORPUS } from "../maintain/long-passages.ts";

await build(process.argv[2]!, CORPUS, {
  ...COMPRESSED,
  onProgress: (progress) => process.send!(progress),
});
process.disconnect();
