/** The reference models: tiny ReAtt models with outputs of the authors' code. */

import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The two whole models. They are too large for the repository. */
const WHOLE_MODELS = ["reatt-v11", "reatt-v10-tied"] as const;
/** The model in the repository: `reatt-v10-tied` with a part of its embedding. */
const FIXTURE = "fixtures/reference";

export const REFERENCE_MODELS = [FIXTURE, ...WHOLE_MODELS] as const;

/** The folder of a reference model. A clone has only that of the first model. */
export function referenceFolder(model: string): string {
  return model === FIXTURE ? resolve("test", FIXTURE) : resolve("../shared/reference", model);
}

/** Fills the empty folder `to` with the model of the reference folder `source` and a tokenizer. */
export function writeReferenceModel(
  source: string,
  to: string,
  weightsFile = "model.safetensors",
): void {
  symlinkSync(resolve("test/fixtures/t5/spiece.model"), join(to, "spiece.model"));
  symlinkSync(join(source, "config.json"), join(to, "config.json"));
  if (source === referenceFolder(FIXTURE)) {
    const { kept_ids, vocabulary_size } = JSON.parse(
      readFileSync(join(source, "expected.json"), "utf8"),
    );
    const weights = readFileSync(join(source, weightsFile));
    writeFileSync(join(to, weightsFile), withWholeEmbedding(weights, kept_ids, vocabulary_size));
  } else symlinkSync(join(source, weightsFile), join(to, weightsFile));
}

/**
 * A safetensors file whose last tensor, `shared.rows` [kept ids, width], becomes `shared.weight`
 * [vocabulary, width]. The rows of all other ids are zero.
 */
function withWholeEmbedding(file: Buffer, keptIds: readonly number[], vocabulary: number): Buffer {
  const headerEnd = 8 + Number(file.readBigUInt64LE(0));
  const { "shared.rows": rows, ...others } = JSON.parse(file.toString("utf8", 8, headerEnd));
  const [begin] = rows.data_offsets;
  const width: number = rows.shape[1];
  const rowBytes = width * Float32Array.BYTES_PER_ELEMENT;
  const table = Buffer.alloc(vocabulary * rowBytes);
  keptIds.forEach((id, i) => {
    const from = headerEnd + begin + i * rowBytes;
    file.copy(table, id * rowBytes, from, from + rowBytes);
  });
  const header = JSON.stringify({
    ...others,
    "shared.weight": {
      dtype: "F32",
      shape: [vocabulary, width],
      data_offsets: [begin, begin + table.length],
    },
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([
    length,
    Buffer.from(header),
    file.subarray(headerEnd, headerEnd + begin),
    table,
  ]);
}
