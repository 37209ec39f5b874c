/** Removes the locks that a power cut has left. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** After a power cut no writer runs. Here it would be this process, which still does. */
export async function removeLocks(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [] as string[]))
    if (name.endsWith(".lock")) await rm(join(directory, name));
}
