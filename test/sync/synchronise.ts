/**
 * A process that synchronises an index, for tests that kill it: `MODEL FOLDER INDEX`. It writes a
 * line for each step.
 */

import { ReAtt } from "../../src/reatt.ts";

const [path, folder, directory] = process.argv.slice(2) as [string, string, string];
await using model = await ReAtt.load(path, { threads: 1 });
const onProgress = (): void => void process.stdout.write("step\n");
await model.sync(folder, { directory, onProgress });
