/**
 * A process for writer-kills.ts to kill: synchronises an index with a folder, both of which its
 * arguments name. It writes a line when it begins.
 */

import { ReAtt } from "../../src/reatt.ts";
import { endWithParent } from "./end-with-parent.ts";

const [folder, directory] = process.argv.slice(2) as [string, string];

endWithParent();
const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
process.stdout.write("started\n");
await model.sync(folder, { directory, delete: true });
process.exit(0);
