/**
 * A process for crash.test.ts to kill: writes one generation after the other to the directory of
 * its argument.
 */

import { findManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import { endWithParent } from "../../../campaigns/end-with-parent.ts";
import { advance } from "../maintain/generations.ts";

const directory = process.argv[2]!;

endWithParent();
process.stdout.write("started\n");
while (true) await advance(directory, ((await findManifest(directory))?.generation ?? 0) + 1);
