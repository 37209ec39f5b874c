/**
 * The weights that retrieved best so far, in `checkpoint/best.safetensors`. A run whose retrieval
 * falls continues with them. The file has every parameter in float32, so that nothing is rounded.
 */

import { join } from "node:path";
import { openSafetensors } from "../../checkpoints/safetensors.ts";
import { writeSafetensors } from "../../checkpoints/write-safetensors.ts";
import type { ParameterState } from "../engine/optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

const fileOf = (out: string): string => join(out, "checkpoint", "best.safetensors");

/** @throws {InputError} if the disk refuses; the previous file then stays. */
export async function writeBestWeights(out: string, parameters: Parameters): Promise<void> {
  const tensors = [...parameters].map(
    ([name, { shape, value }]) => [name, { shape, values: value }] as const,
  );
  await writeSafetensors(fileOf(out), new Map(tensors), { dtype: "F32" });
}

/** @throws {InputError} if the file is missing or damaged */
export async function readBestWeights(
  out: string,
  parameters: Parameters,
): Promise<Map<string, Float32Array>> {
  await using file = await openSafetensors(fileOf(out));
  const weights = new Map<string, Float32Array>();
  for (const name of parameters.keys()) weights.set(name, await file.read(name));
  return weights;
}
