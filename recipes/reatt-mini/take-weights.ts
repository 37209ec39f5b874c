/**
 * Puts weights of one int8 model into another one of the same sizes:
 *
 *     npx tsx recipes/reatt-mini/take-weights.ts --model DIR --from DIR --names REGEX --out DIR
 *
 * `--out` is `--model` with the weights of `--from` whose names match. All other weights keep their
 * bytes: what finds passages finds the same, or what reads answers as before.
 */

import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/tables-int8" },
    from: { type: "string", default: "runs/reatt-mini/distilled-int8" },
    names: { type: "string", default: "^retrieval" },
    out: { type: "string", default: "runs/reatt-mini/int8" },
  },
});
const FILE = "model.safetensors";

/** The header of a safetensors file: eight bytes with its length, then JSON. */
async function readTensors(folder: string) {
  const bytes = await readFile(join(folder, FILE));
  const start = 8 + Number(bytes.readBigUInt64LE());
  const header: Record<string, { data_offsets: [number, number] }> = JSON.parse(
    bytes.toString("utf8", 8, start),
  );
  return { bytes, start, header };
}

const own = await readTensors(values.model);
const other = await readTensors(values.from);
if (!isDeepStrictEqual(own.header, other.header))
  throw new Error(`expected tensors of the same sizes in ${values.model} and ${values.from}`);
for (const [name, { data_offsets }] of Object.entries(own.header))
  if (new RegExp(values.names).test(name)) {
    const [begin, end] = data_offsets;
    other.bytes.copy(own.bytes, own.start + begin, other.start + begin, other.start + end);
  }
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, FILE), own.bytes);
for (const name of ["spiece.model", "config.json"]) // config.json last: it makes a model
  await copyFile(join(values.model, name), join(values.out, name));
