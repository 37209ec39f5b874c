/** A process for crash.test.ts to kill: makes one generation after the other in the directory of its argument. */

import { findManifest } from "../../../src/retrieval/disk/manifest.ts";
import { advance } from "./generations.ts";

const directory = process.argv[2]!;

process.stdout.write("started\n");
while (true) await advance(directory, ((await findManifest(directory))?.generation ?? 0) + 1);
