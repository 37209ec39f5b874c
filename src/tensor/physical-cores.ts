/** How many cores onnxruntime can use. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/**
 * The physical cores that this process can use, as Linux counts them: hyperthreads of a core count
 * once, and limits of a container hold. onnxruntime counts by itself, ignores such limits, and
 * finds one core on some virtual machines that have several.
 *
 * @param folder has a folder `cpu<N>` for each processor
 * @param logical number of processors that this process can use
 * @returns undefined where the system does not say: onnxruntime then decides.
 */
export function physicalCores(
  folder = "/sys/devices/system/cpu",
  logical: number = availableParallelism(),
): number | undefined {
  if (!existsSync(folder)) return undefined; // not Linux
  const siblings = readdirSync(folder)
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => join(folder, name, "topology", "thread_siblings_list"))
    .filter((file) => existsSync(file)); // without processors that are switched off
  const cores = new Set(siblings.map((file) => readFileSync(file, "utf8").trim())).size;
  return cores === 0 ? undefined : Math.min(cores, logical);
}
