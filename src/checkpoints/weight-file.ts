/** What every checkpoint format offers: a list of tensors without their data, and one tensor's numbers at a time. */

import { InputError } from "../io/errors.ts";

/** What a checkpoint says of a tensor before its data are read. */
export interface TensorInfo {
  readonly name: string;
  /** In the words of safetensors: `F32`, `F16`, `BF16`, `I64`, ... */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The path of the file that holds it: one shard of a sharded checkpoint. */
  readonly file: string;
}

/** An open checkpoint: one file, or all shards of one. Closing it twice does no harm. */
export interface WeightFile extends AsyncDisposable {
  /** The path of the file, or of the index of the shards. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * The numbers of one tensor in row-major order; fp16 and bf16 are widened exactly.
   *
   * @throws {InputError} where the tensor is missing, holds other than F32, F16 or BF16, or cannot be read.
   */
  read(name: string): Promise<Float32Array>;
}

/** The tensor called `name`, or an error that names it and the file. */
export function findTensor<Tensor>(
  tensors: ReadonlyMap<string, Tensor>,
  name: string,
  file: string,
): Tensor {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  const remedy = "use a checkpoint of this model";
  throw new InputError({
    where: file,
    expected: `a tensor ${name}`,
    got: "none of that name",
    remedy,
  });
}
