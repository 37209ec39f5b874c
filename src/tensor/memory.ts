/** The memory that the weights of a session take beside the file that they are mapped from. */

import { elementCount } from "../checkpoints/values.ts";
import { InputError } from "../io/errors.ts";
import { formatBytes } from "../io/format-bytes.ts";
import { isMapped, isStored, type Weight } from "./onnx-weights.ts";

/**
 * Checks before a session is made that the memory suffices for its weights. Otherwise the system
 * would end the process, or swap.
 *
 * @param packed whether onnxruntime keeps a second copy, packed for products
 * @param available bytes; default: what the system has for this process
 * @throws {InputError} if it does not
 */
export function checkMemory(
  weights: Iterable<Weight>,
  packed: boolean,
  available: number = process.availableMemory(),
): void {
  let [bytes, file]: [number, string | undefined] = [0, undefined];
  for (const weight of weights) {
    if (isStored(weight) && isMapped(weight)) continue;
    bytes += 4 * (isStored(weight) ? elementCount(weight.shape) : weight.length);
    if (isStored(weight)) file ??= weight.file;
  }
  const needed = bytes * (packed ? 2 : 1);
  if (needed <= available) return;
  throw new InputError({
    where: file ?? "weights",
    expected: `${formatBytes(needed)} of memory, since its weights are not mapped`,
    got: `${formatBytes(available)} free`,
    remedy: "free some, or write weights that are mapped: reatt convert --precision fp32 or int8",
  });
}
