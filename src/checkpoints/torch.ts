/**
 * Reads `pytorch_model.bin`: a zip archive of `NAME/data.pkl`, a pickle of the tensors' names and
 * shapes, and `NAME/data/KEY`, the values of one storage. Several tensors may be views of one
 * storage.
 *
 * A pickle can request the execution of any code. This reader accepts only the functions and
 * classes that a state dict of tensors needs, and rejects a file that names anything else (see
 * pickle.ts).
 *
 * Format: PyTorch, torch/serialization.py (`_save`) and torch/_utils.py (`_rebuild_tensor_v2`),
 * torch 1.6 or later.
 */

import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { type InputFile, openInputFile } from "../io/input-file.ts";
import { type PickleGlobal, type PickleRules, rejectedRequest, unpickle } from "./pickle.ts";
import { gather, isContiguous, storageSpan } from "./strides.ts";
import { DTYPE_BYTES, elementCount, isCount, locateValues, readValues } from "./values.ts";
import { findTensor, type StoredValues, type TensorInfo, type WeightFile } from "./weight-file.ts";
import { readZipDirectory, type ZipEntry } from "./zip.ts";

const MAX_PICKLE_BYTES = 5_000_000; // a checkpoint of 1,000 tensors has 200 kB
/**
 * First bytes of the format before torch 1.6: a pickle (protocol 2) of the number
 * 0x1950a86a20f9469cfc6c.
 */
const LEGACY_START = Buffer.from("80028a0a6cfc9c46f9206aa85019", "hex");

/** Storage class -> dtype. */
const STORAGE_DTYPES: ReadonlyMap<string, string> = new Map([
  ["torch.DoubleStorage", "F64"],
  ["torch.FloatStorage", "F32"],
  ["torch.HalfStorage", "F16"],
  ["torch.BFloat16Storage", "BF16"],
  ["torch.LongStorage", "I64"],
  ["torch.IntStorage", "I32"],
  ["torch.ShortStorage", "I16"],
  ["torch.CharStorage", "I8"],
  ["torch.ByteStorage", "U8"],
  ["torch.BoolStorage", "BOOL"],
]);

/** Values in the file. Tensors are views of them. */
interface Storage {
  readonly type: "storage";
  readonly dtype: string;
  readonly entry: ZipEntry;
  /** Number of values. */
  readonly length: number;
}

/**
 * A tensor whose first value is value `offset` of the storage. See strides.ts for the other values.
 */
interface TensorView {
  readonly type: "tensor";
  readonly storage: Storage;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

type StoredTensor = TensorView & TensorInfo;

/**
 * @throws {InputError} if the file is not a zip archive of torch, is damaged, or contains other
 * objects than tensors.
 */
export async function openTorch(path: string): Promise<WeightFile> {
  const file = await openInputFile(path);
  try {
    await rejectLegacyFormat(file);
    const entries = await readZipDirectory(file);
    const pickle = [...entries.values()].find(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
    if (pickle === undefined) throw damaged(path, "an entry data.pkl", "none");
    const folder = pickle.name.slice(0, -"data.pkl".length);
    await rejectBigEndian(file, entries.get(`${folder}byteorder`));
    if (pickle.size > MAX_PICKLE_BYTES)
      throw damaged(path, `at most ${MAX_PICKLE_BYTES} bytes`, `${pickle.size}`);
    const bytes = await file.read(await pickle.findData(), pickle.size);
    const tensors = namedTensors(path, unpickle(bytes, pickleRules(path, folder, entries)));
    return {
      path,
      tensors,
      read: async (name) => readTensor(file, findTensor(tensors, name, path)),
      locate: async (name) => locateTensor(findTensor(tensors, name, path)),
      [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** The globals and persistent ids that the pickle of a state dict may use. */
function pickleRules(
  path: string,
  folder: string,
  entries: ReadonlyMap<string, ZipEntry>,
): PickleRules {
  const callable: PickleGlobal[] = [
    { name: "collections.OrderedDict", call: (args) => emptyDict(args, path) },
    { name: "torch._utils._rebuild_tensor_v2", call: (args) => rebuildTensor(args, path) },
    { name: "torch._utils._rebuild_parameter", call: ([tensor]) => tensor },
  ];
  const storages = [...STORAGE_DTYPES.keys()].map((name): PickleGlobal => ({ name }));
  return {
    where: path,
    globals: new Map([...callable, ...storages].map((global) => [global.name, global])),
    persistent: (id: unknown) => findStorage(id, path, folder, entries),
  };
}

function emptyDict(args: readonly unknown[], path: string): Map<unknown, unknown> {
  if (args.length > 0) throw rejectedRequest(path, `an OrderedDict of ${excerpt(args)}`);
  return new Map();
}

/** `id` is ("storage", class, key, device, length). */
function findStorage(
  id: unknown,
  path: string,
  folder: string,
  entries: ReadonlyMap<string, ZipEntry>,
): Storage {
  const [type, storageClass, key, , length] = Array.isArray(id) ? id : [];
  const dtype = STORAGE_DTYPES.get(Object(storageClass).name);
  if (type !== "storage" || dtype === undefined || typeof key !== "string" || !isCount(length)) {
    throw damaged(path, "a reference to a storage", excerpt(id));
  }
  const name = `${folder}data/${key}`;
  const entry = entries.get(name);
  const bytes = length * DTYPE_BYTES.get(dtype)!;
  if (entry?.size !== bytes)
    throw damaged(`${path}: ${name}`, `${bytes} bytes`, `${entry?.size ?? "none"}`);
  return { type: "storage", dtype, entry, length };
}

/** `args` are (storage, offset, shape, strides, requires gradient, hooks), as torch writes them. */
function rebuildTensor(args: readonly unknown[], path: string): TensorView {
  const [storage, offset, shape, strides] = args;
  const bad = (expected: string) => damaged(path, expected, excerpt(args));
  if (args.length !== 6 || !isStorage(storage)) throw bad("the 6 arguments of a plain tensor");
  if (
    !isCount(offset) ||
    !isCounts(shape) ||
    !isCounts(strides) ||
    shape.length !== strides.length
  ) {
    throw bad("an integer offset, shape and strides");
  }
  const count = elementCount(shape);
  const end = count === 0 ? 0 : offset + storageSpan(shape, strides);
  // A view can repeat values (expand in torch). Weights do not, and a small file could request all
  // memory.
  if (!(count <= storage.length && end <= storage.length))
    throw bad(`a view inside ${storage.length} values`);
  return { type: "tensor", storage, offset, shape, strides };
}

function namedTensors(path: string, root: unknown): Map<string, StoredTensor> {
  const entries = root instanceof Map ? [...root] : [["", root]];
  return new Map(entries.map(([name, value]) => [name, namedTensor(path, name, value)]));
}

function namedTensor(path: string, name: unknown, value: unknown): StoredTensor {
  if (typeof name === "string" && isTensor(value)) {
    return { ...value, name, dtype: value.storage.dtype, file: path };
  }
  throw new InputError({
    where: path,
    expected: "a state dict that maps names to tensors and to nothing else",
    got: `${excerpt(name)}: ${value instanceof Map ? "another dict" : excerpt(value)}`,
    remedy: "save the model's state dict alone",
  });
}

async function locateTensor(tensor: StoredTensor): Promise<StoredValues | undefined> {
  const { shape, strides } = tensor;
  return isContiguous(shape, strides) ? locateValues(tensor, await positionOf(tensor)) : undefined;
}

/** The position of the first value in the file. */
const positionOf = async ({ storage, offset }: StoredTensor): Promise<number> =>
  (await storage.entry.findData()) + offset * DTYPE_BYTES.get(storage.dtype)!;

async function readTensor(file: InputFile, tensor: StoredTensor): Promise<Float32Array> {
  const { shape, strides } = tensor;
  if (elementCount(shape) === 0) return new Float32Array(0);
  const position = await positionOf(tensor);
  const values = await readValues(file, tensor, position, storageSpan(shape, strides));
  return isContiguous(shape, strides) ? values : gather(values, shape, strides);
}

async function rejectLegacyFormat(file: InputFile): Promise<void> {
  const start = await file.read(0, Math.min(LEGACY_START.length, file.size));
  if (!start.equals(LEGACY_START)) return;
  throw new InputError({
    where: file.path,
    expected: "a zip of torch 1.6 or later",
    got: "the older format",
    remedy: "convert it in Python: torch.save(torch.load(file, map_location='cpu'), file)",
  });
}

async function rejectBigEndian(file: InputFile, entry: ZipEntry | undefined): Promise<void> {
  // Torch before 2.1 writes no byte order; its platforms are little-endian
  if (entry === undefined) return;
  const length = Math.min(entry.size, "little".length + 1);
  const order = (await file.read(await entry.findData(), length)).toString();
  if (order !== "little") throw damaged(file.path, "little-endian values", excerpt(order));
}

function isStorage(value: unknown): value is Storage {
  return Object(value).type === "storage";
}

function isTensor(value: unknown): value is TensorView {
  return Object(value).type === "tensor";
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(isCount);
}

function damaged(where: string, expected: string, got: string): InputError {
  const remedy = "the file is damaged or contains other objects than tensors";
  return new InputError({ where, expected, got, remedy });
}
