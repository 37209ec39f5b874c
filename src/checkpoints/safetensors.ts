/**
 * Reads safetensors files: 8 bytes header length N (little-endian), N bytes of JSON, the data. The
 * JSON maps each name to dtype, shape and `data_offsets: [begin, end]`, counted from the start of
 * the data, without holes or overlaps. Matrices of 8-bit integers have scales (see int8.ts).
 *
 * Format: https://huggingface.co/docs/safetensors/index#format
 */

import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { type InputFile, openInputFile } from "../io/input-file.ts";
import { parseJson } from "../io/json/parse-json.ts";
import {
  columnScaleName,
  dequantise,
  INT8_VERSION,
  INT8_VERSION_KEY,
  scaleName,
  transpose,
} from "./int8.ts";
import {
  bytesOf,
  checkCount,
  DTYPE_BYTES,
  elementCount,
  isCount,
  locateValues,
  readValues,
} from "./values.ts";
import { findTensor, type StoredValues, type TensorInfo, type WeightFile } from "./weight-file.ts";

const MAX_HEADER_BYTES = 5_000_000; // a 3 GB checkpoint has 60 kB
const LENGTH_BYTES = 8;

interface StoredTensor extends TensorInfo {
  /** Bytes from the start of the data. */
  readonly begin: number;
  readonly end: number;
}

/** An I8 matrix [rows, columns] with its scales, F32 [rows] and, of a table, F32 [columns]. */
interface ScaledTensor extends StoredTensor {
  readonly scales: StoredTensor;
  readonly columnScales: StoredTensor | undefined;
}

/** The content of the header. */
interface Header {
  readonly metadata: unknown;
  /** All other entries. */
  readonly entries: readonly (readonly [name: string, entry: unknown])[];
}

/**
 * @throws {InputError} if the file is truncated or oversized, or if its header is inconsistent.
 * Names file and tensor.
 */
export async function openSafetensors(path: string): Promise<WeightFile> {
  const file = await openInputFile(path);
  try {
    const headerBytes = await readHeaderLength(file);
    const { metadata, entries } = parseHeader(path, await file.read(LENGTH_BYTES, headerBytes));
    checkVersion(path, metadata);
    const dataStart = LENGTH_BYTES + headerBytes;
    const stored = new Map(entries.map(([name, entry]) => [name, checkTensor(path, name, entry)]));
    checkLayout(path, [...stored.values()], file.size - dataStart);
    const tensors = joinScales(stored);
    return {
      path,
      tensors,
      async read(name) {
        const tensor = findTensor(tensors, name, path);
        if ("scales" in tensor) return readScaled(file, tensor, dataStart);
        return readValues(file, tensor, dataStart + tensor.begin, elementCount(tensor.shape));
      },
      async locate(name) {
        const tensor = findTensor(tensors, name, path);
        if ("scales" in tensor) return locateScaled(file, tensor, dataStart);
        return locateValues(tensor, dataStart + tensor.begin);
      },
      [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

async function readHeaderLength(file: InputFile): Promise<number> {
  const length = Number((await file.read(0, LENGTH_BYTES)).readBigUInt64LE());
  const limit = Math.min(MAX_HEADER_BYTES, file.size - LENGTH_BYTES);
  if (length > limit)
    throw damaged(file.path, `a header of at most ${limit} bytes`, `a length of ${length}`);
  return length;
}

function parseHeader(path: string, bytes: Buffer): Header {
  let text: string;
  let header: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    header = parseJson(text, path);
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw damaged(path, "a header of JSON", excerpt(bytes.toString("latin1")), cause);
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw damaged(path, "a header that is a JSON object", excerpt(header));
  }
  const repeated = firstRepeated(topLevelKeys(text));
  if (repeated !== undefined) throw damaged(path, "one entry a tensor", `two for ${repeated}`);
  const { __metadata__: metadata, ...tensors } = header as Record<string, unknown>;
  return { metadata, entries: Object.entries(tensors) };
}

/** @throws {InputError} if another version of reatt wrote the 8-bit tensors */
function checkVersion(path: string, metadata: unknown): void {
  const version = Object(metadata)[INT8_VERSION_KEY];
  if (version === undefined || version === `${INT8_VERSION}`) return;
  throw new InputError({
    where: path,
    expected: `int8 weights of version ${INT8_VERSION}`,
    got: `version ${excerpt(version)}`,
    remedy: "convert the original model again, or install a newer reatt",
  });
}

/** All keys of a JSON object, repeated keys included: `JSON.parse` keeps only the last of them. */
function topLevelKeys(json: string): string[] {
  const keys: string[] = [];
  let depth = 0;
  for (let i = 0; i < json.length; i++) {
    const character = json[i]!;
    if (character === '"') {
      const start = i;
      for (i++; json[i] !== '"'; i++) if (json[i] === "\\") i++;
      if (depth === 1) keys.push(JSON.parse(json.slice(start, i + 1)));
    } else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
  }
  return keys;
}

function firstRepeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

function checkTensor(path: string, name: string, entry: unknown): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = Object(entry);
  const valueBytes = DTYPE_BYTES.get(dtype);
  const bad = (expected: string) => damaged(`${path}: ${name}`, expected, excerpt(entry));
  if (valueBytes === undefined) throw bad(`a dtype of ${[...DTYPE_BYTES.keys()].join(", ")}`);
  if (!Array.isArray(shape) || !shape.every(isCount)) throw bad("a shape of whole numbers");
  const bytes = elementCount(shape) * valueBytes;
  const [begin, end] = Array.isArray(offsets) ? offsets : [];
  if (!isCount(begin) || !isCount(end) || end - begin !== bytes)
    throw bad(`data_offsets ${bytes} bytes apart`);
  return { name, dtype, shape, file: path, begin, end };
}

/**
 * Checks that the tensors fill the data: the first begins at 0, each next one where the last ends.
 */
function checkLayout(path: string, tensors: readonly StoredTensor[], dataBytes: number): void {
  let end = 0;
  for (const tensor of tensors.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (tensor.begin !== end) {
      throw damaged(
        `${path}: ${tensor.name}`,
        `data that begin at ${end}`,
        `data at ${tensor.begin}`,
      );
    }
    end = tensor.end;
  }
  if (end !== dataBytes) throw damaged(path, `${end} bytes of data`, `${dataBytes}`);
}

/** The tensors without the scales of others; a scaled tensor has its scales. */
function joinScales(
  stored: ReadonlyMap<string, StoredTensor>,
): Map<string, StoredTensor | ScaledTensor> {
  const tensors = new Map<string, StoredTensor | ScaledTensor>(stored);
  for (const [name, tensor] of stored) {
    const scales = stored.get(scaleName(name));
    if (tensor.dtype !== "I8" || !scales) continue;
    const columnScales = stored.get(columnScaleName(name));
    const { file } = tensor;
    if (tensor.shape.length !== 2)
      throw damaged(
        `${file}: ${name}`,
        "a matrix, because it has scales",
        `shape [${tensor.shape}]`,
      );
    const shape = columnScales ? tensor.shape : tensor.shape.toReversed();
    checkScales(scales, shape[0]!);
    if (columnScales) checkScales(columnScales, shape[1]!);
    tensors.set(name, { ...tensor, shape, scales, columnScales });
    tensors.delete(scales.name);
    tensors.delete(columnScaleName(name));
  }
  return tensors;
}

/** @throws {InputError} unless there are `count` F32 scales */
function checkScales({ file, name, dtype, shape }: StoredTensor, count: number): void {
  if (dtype === "F32" && shape.join() === `${count}`) return;
  const got = `${dtype} of shape [${shape}]`;
  throw damaged(`${file}: ${name}`, `F32 of shape [${count}]`, got);
}

async function readScaled(
  file: InputFile,
  tensor: ScaledTensor,
  dataStart: number,
): Promise<Float32Array> {
  const count = elementCount(tensor.shape);
  checkCount(tensor, count);
  const scales = await readScales(file, tensor.scales, dataStart);
  const columnScales =
    tensor.columnScales && (await readScales(file, tensor.columnScales, dataStart));
  const stored = new Int8Array(count);
  await file.readInto(bytesOf(stored), dataStart + tensor.begin);
  const values = columnScales ? stored : transpose(stored, tensor.shape[1]!);
  return dequantise({ values, scales, columnScales });
}

/** Reads the scales as well: damaged ones must be an error before a session uses them. */
async function locateScaled(
  file: InputFile,
  { dtype, shape, begin, scales, columnScales }: ScaledTensor,
  dataStart: number,
): Promise<StoredValues | undefined> {
  const ofScales = columnScales ? [scales, columnScales] : [scales];
  if (ofScales.some((tensor) => !locateValues(tensor, dataStart + tensor.begin))) return undefined;
  const locate = async (tensor: StoredTensor): Promise<StoredValues> => {
    await readScales(file, tensor, dataStart);
    return { ...tensor, position: dataStart + tensor.begin };
  };
  return {
    file: file.path,
    position: dataStart + begin,
    dtype,
    shape,
    scales: await locate(scales),
    columnScales: columnScales && (await locate(columnScales)),
  };
}

/** @throws {InputError} if a scale is negative or not finite */
async function readScales(
  file: InputFile,
  tensor: StoredTensor,
  dataStart: number,
): Promise<Float32Array> {
  const scales = await readValues(file, tensor, dataStart + tensor.begin, tensor.shape[0]!);
  const unusable = scales.find((scale) => !(scale >= 0 && scale < Number.POSITIVE_INFINITY));
  if (unusable === undefined) return scales;
  throw damaged(`${file.path}: ${tensor.name}`, "scales from 0 on", `${unusable}`);
}

function damaged(where: string, expected: string, got: string, cause?: unknown): InputError {
  const remedy = "the file is damaged or not safetensors, download it again";
  return new InputError({ where, expected, got, remedy }, { cause });
}
