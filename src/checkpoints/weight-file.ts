/** The interface of all checkpoint formats: list the tensors, then read one tensor at a time. */

import { InputError } from "../io/errors.ts";

/** Metadata of a tensor. */
export interface TensorInfo {
  readonly name: string;
  /** The name in safetensors: `F32`, `F16`, `BF16`, `I64`, ... */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Path of the file that contains the data: one shard of a sharded checkpoint. */
  readonly file: string;
}

/** Where a file has the values of a tensor, row-major and without gaps. */
export interface StoredValues {
  /** Path of the file. */
  readonly file: string;
  /** Bytes from the start of the file: a multiple of the size of a value. */
  readonly position: number;
  /** `F32`, `F16`, `BF16`, or `I8` with `scales`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** F32 [rows] of an I8 matrix (see int8.ts). */
  readonly scales?: StoredValues | undefined;
  /**
   * F32 [columns] of an I8 table. Other I8 matrices [rows, columns] are in the file transposed, as
   * [columns, rows].
   */
  readonly columnScales?: StoredValues | undefined;
}

/** An open checkpoint: one file or all its shards. It may be closed twice. */
export interface WeightFile extends AsyncDisposable {
  /** Path of the file, or of the shard index. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * Reads the values of a tensor in row-major order as float32. The conversion of F16 and BF16 is
   * exact.
   *
   * @throws {InputError} if the tensor is missing, has another dtype than F32, F16 or BF16, or
   * cannot be read.
   */
  read(name: string): Promise<Float32Array>;
  /**
   * Where the values of a tensor are. Undefined if they cannot be used as they are: a view with
   * gaps, or values that are not aligned.
   *
   * @throws {InputError} as `read` does.
   */
  locate(name: string): Promise<StoredValues | undefined>;
}

/** Looks up a tensor by name. @throws {InputError} if `file` does not contain it. */
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
