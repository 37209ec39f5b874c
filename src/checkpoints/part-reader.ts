/**
 * Reads weights of float32 or 8-bit integers part by part. Large ones need not be in memory as a
 * whole, and the first use of new memory takes longer than to read and convert the values.
 */

import { type InputFile, InputFiles } from "../io/input-file.ts";
import { dequantise, dequantiseStored, type Int8Matrix } from "./int8.ts";
import { bytesOf, elementCount } from "./values.ts";
import type { StoredValues } from "./weight-file.ts";

/** Values of a part: 1 MB. A cache of the processor holds it. */
const PART = 2 ** 18;

/** Whether a weight is stored in a way that can be read part by part. */
export const hasParts = ({ dtype, scales }: StoredValues): boolean =>
  scales !== undefined || dtype === "F32";

/** The scales of a matrix of 8-bit integers. */
export async function readScales(
  file: InputFile,
  { shape, columnScales: ofColumns }: StoredValues,
  ofRows: StoredValues,
): Promise<Pick<Int8Matrix, "scales" | "columnScales">> {
  const [rows, columns] = shape as [number, number];
  const scales = new Float32Array(rows);
  await file.readInto(bytesOf(scales), ofRows.position);
  if (!ofColumns) return { scales };
  const columnScales = new Float32Array(columns);
  await file.readInto(bytesOf(columnScales), ofColumns.position);
  return { scales, columnScales };
}

/** Reads weights part by part, all into the same memory. */
export class PartReader {
  readonly #files: InputFiles;
  #part = new Float32Array(PART);
  #integers = new Int8Array();

  constructor(files: InputFiles) {
    this.#files = files;
  }

  /** The values of a weight that `hasParts`. A part is valid until another one is read. */
  read(place: StoredValues): AsyncGenerator<Float32Array> {
    return place.scales ? this.#dequantised(place, place.scales) : this.#floats(place);
  }

  async *#dequantised(place: StoredValues, ofRows: StoredValues): AsyncGenerator<Float32Array> {
    const { position, shape } = place;
    const [rows, columns] = shape as [number, number];
    const file = await this.#files.open(place.file);
    const { scales, columnScales } = await readScales(file, place, ofRows);
    const step = Math.max(1, Math.floor(PART / columns));
    if (this.#part.length < columns) this.#part = new Float32Array(columns);
    // a layer is stored transposed, so each of its parts needs the whole of it
    const stored = this.#memory(columnScales ? step * columns : rows * columns);
    if (!columnScales) await file.readInto(bytesOf(stored), position);
    for (let row = 0; row < rows; row += step) {
      const ofPart = scales.subarray(row, row + step);
      const part = this.#part.subarray(0, ofPart.length * columns);
      if (columnScales) {
        const values = stored.subarray(0, part.length);
        await file.readInto(bytesOf(values), position + row * columns);
        dequantise({ values, scales: ofPart, columnScales }, part);
      } else dequantiseStored(stored, scales, row, part);
      yield part;
    }
  }

  async *#floats({ file: path, position, shape }: StoredValues): AsyncGenerator<Float32Array> {
    const count = elementCount(shape);
    const file = await this.#files.open(path);
    for (let start = 0; start < count; start += PART) {
      const values = this.#part.subarray(0, Math.min(PART, count - start));
      await file.readInto(bytesOf(values), position + 4 * start);
      yield values;
    }
  }

  #memory(size: number): Int8Array {
    if (this.#integers.length < size) this.#integers = new Int8Array(size);
    return this.#integers.subarray(0, size);
  }
}

/** All values of a weight that `hasParts`. */
export async function readWhole(place: StoredValues): Promise<Float32Array> {
  await using files = new InputFiles();
  const values = new Float32Array(elementCount(place.shape));
  let read = 0;
  for await (const part of new PartReader(files).read(place)) {
    values.set(part, read);
    read += part.length;
  }
  return values;
}
