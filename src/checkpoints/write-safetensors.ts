/** Writes safetensors files. See safetensors.ts for the format, int8.ts for 8-bit tensors. */

import { InputError } from "../io/errors.ts";
import type { OpenFile } from "../io/open-file.ts";
import { replaceFile } from "../io/replace-file.ts";
import { firstNotFiniteOf } from "./finite.ts";
import { narrowFloat16, VALUES_PER_BATCH } from "./half.ts";
import {
  columnScaleName,
  INT8_VERSION,
  INT8_VERSION_KEY,
  type Int8Matrix,
  quantiseLayer,
  quantiseTable,
  scaleName,
  transpose,
} from "./int8.ts";
import { bytesOf, DTYPE_BYTES, elementCount } from "./values.ts";

/** The dtype of a written file. */
export type FloatType = "F32" | "F16";

export interface TensorToWrite {
  readonly shape: readonly number[];
  /** Row-major. A function is called when the tensor is written. */
  readonly values: Float32Array | (() => Promise<Float32Array | Int8Matrix>);
  /** Default: that of the file. An I8 tensor is a matrix; float32 values of it are rounded. */
  readonly dtype?: FloatType | "I8";
  /** Whether an I8 matrix is a table, and not the weight of a linear layer. Default: false. */
  readonly isTable?: boolean;
}

/** A file that is being written. */
interface Output {
  readonly file: OpenFile;
  readonly path: string;
  readonly entries: ReadonlyMap<string, Entry>;
  /** Position of the first data. */
  readonly dataStart: number;
}

interface Entry {
  readonly dtype: FloatType | "I8";
  readonly shape: readonly number[];
  readonly data_offsets: readonly [begin: number, end: number];
}

const FLOAT16_LIMIT = 65_520; // the smallest value that rounds to infinity
const WRITE_BYTES = 2 ** 28; // for one system call, which writes at most 2 GiB
const HEADER_ALIGNMENT = 8; // bytes; aligned data can be memory-mapped

/**
 * Writes tensors by name, in the order of the map, and replaces `path` atomically. I8 tensors come
 * last, after the scales of all of them: float32 values stay aligned.
 *
 * F16 rounds to the nearest value, ties to even.
 *
 * @throws {InputError} if a finite value would become infinite in F16, if a value for I8 is not
 * finite, or if the file cannot be written.
 */
export async function writeSafetensors(
  path: string,
  tensors: ReadonlyMap<string, TensorToWrite>,
  { dtype }: { dtype: FloatType },
): Promise<void> {
  const entries = layOut(tensors, dtype);
  const header = encodeHeader(entries);
  await replaceFile(path, async (file) => {
    await writeAt(file, header, 0);
    for (const [name, { shape, values }] of tensors) {
      const loaded = values instanceof Float32Array ? values : await values();
      const { length } = loaded instanceof Float32Array ? loaded : loaded.values;
      if (elementCount(shape) !== length)
        throw new RangeError(`${name}: shape [${shape}] with ${length} values`);
      await writeTensor({ file, path, entries, dataStart: header.length }, name, loaded);
    }
  });
}

/** Bytes of a tensor in a file of `dtype`, with its scales. */
export function storedBytes(tensor: TensorToWrite, dtype: FloatType): number {
  const own = layOut(new Map([["", tensor]]), dtype).values();
  return Math.max(...[...own].map(({ data_offsets: [, end] }) => end));
}

/** The entries of the header in the order of their data. */
function layOut(
  tensors: ReadonlyMap<string, TensorToWrite>,
  dtype: FloatType,
): ReadonlyMap<string, Entry> {
  const all = [...tensors].map(([name, tensor]) => ({ name, dtype, ...tensor }));
  const int8 = all.filter((tensor) => tensor.dtype === "I8");
  const ordered = [
    ...all.filter((tensor) => tensor.dtype !== "I8"),
    ...int8.flatMap(({ name, shape: [rows, columns], isTable }) => [
      { name: scaleName(name), dtype: "F32" as const, shape: [rows!] },
      ...(isTable
        ? [{ name: columnScaleName(name), dtype: "F32" as const, shape: [columns!] }]
        : []),
    ]),
    ...int8.map((tensor) =>
      tensor.isTable ? tensor : { ...tensor, shape: tensor.shape.toReversed() },
    ),
  ];
  let end = 0;
  return new Map(
    ordered.map(({ name, dtype, shape }) => {
      const begin = end;
      end += elementCount(shape) * DTYPE_BYTES.get(dtype)!;
      return [name, { dtype, shape, data_offsets: [begin, end] }];
    }),
  );
}

function encodeHeader(entries: ReadonlyMap<string, Entry>): Buffer {
  const hasInt8 = [...entries.values()].some(({ dtype }) => dtype === "I8");
  // Transformers rejects a file without `format`
  const metadata = { format: "pt", ...(hasInt8 && { [INT8_VERSION_KEY]: `${INT8_VERSION}` }) };
  const header = { __metadata__: metadata, ...Object.fromEntries(entries) };
  const json = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.alloc(Math.ceil(json.length / HEADER_ALIGNMENT) * HEADER_ALIGNMENT, " ");
  json.copy(bytes);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
}

async function writeTensor(
  output: Output,
  name: string,
  values: Float32Array | Int8Matrix,
): Promise<void> {
  const { file, path, entries, dataStart } = output;
  const { dtype, data_offsets: offsets } = entries.get(name)!;
  const where = `${path}: ${name}`;
  if (!(values instanceof Float32Array)) return writeIntegers(output, name, values);
  if (dtype === "F32") return writeAt(file, bytesOf(values), dataStart + offsets[0]);
  if (dtype === "F16") return writeFloat16(file, where, values, dataStart + offsets[0]);
  if (firstNotFiniteOf(values) >= 0)
    throw unwritable(where, "finite values", "infinity or NaN", "repair the model");
  await writeIntegers(output, name, quantised(output, name, values));
}

function quantised({ entries }: Output, name: string, values: Float32Array): Int8Matrix {
  const { shape } = entries.get(name)!;
  return entries.has(columnScaleName(name))
    ? quantiseTable(values, shape[0]!)
    : quantiseLayer(values, shape[1]!);
}

async function writeIntegers(
  { file, entries, dataStart }: Output,
  name: string,
  { values, scales, columnScales }: Int8Matrix,
): Promise<void> {
  const positionOf = (entry: string): number => dataStart + entries.get(entry)!.data_offsets[0];
  const stored = columnScales ? values : transpose(values, scales.length);
  await writeAt(file, bytesOf(stored), positionOf(name));
  await writeAt(file, bytesOf(scales), positionOf(scaleName(name)));
  if (columnScales) await writeAt(file, bytesOf(columnScales), positionOf(columnScaleName(name)));
}

async function writeFloat16(
  file: OpenFile,
  where: string,
  values: Float32Array,
  position: number,
): Promise<void> {
  const tooLarge = values.find(
    (value) => Math.abs(value) >= FLOAT16_LIMIT && Number.isFinite(value),
  );
  if (tooLarge !== undefined)
    throw unwritable(
      where,
      `values below ${FLOAT16_LIMIT}, the range of F16`,
      `${tooLarge}`,
      "save as F32",
    );
  for (let start = 0; start < values.length; start += VALUES_PER_BATCH) {
    const batch = values.subarray(start, start + VALUES_PER_BATCH);
    const halves = new Uint16Array(batch.length);
    narrowFloat16(batch, halves);
    await writeAt(file, bytesOf(halves), position + 2 * start);
  }
}

async function writeAt(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const length = Math.min(WRITE_BYTES, bytes.length - done);
    done += (await file.write(bytes, done, length, position + done)).bytesWritten;
  }
}

const unwritable = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });
