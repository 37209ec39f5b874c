/** A process that synchronises an index, for tests that kill it: `FOLDER INDEX`. */

import { ReAtt } from "../../src/reatt.ts";

const [folder, directory] = process.argv.slice(2) as [string, string];
await using model = await ReAtt.load("models/reatt-mini", { threads: 1 });
process.stdout.write("ready\n");
await model.sync(folder, { directory });
