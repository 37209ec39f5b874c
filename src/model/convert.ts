/** Copies a model with its weights in another precision. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TensorToWrite } from "../checkpoints/write-safetensors.ts";
import { writeWeights } from "../checkpoints/write-weights.ts";
import type { DownloadProgress } from "../hub/download.ts";
import { locateModel } from "../hub/locate-model.ts";
import { InputError } from "../io/errors.ts";
import { beginFolder, endFolder } from "../io/unfinished-folder.ts";
import { checkPath } from "../options/arguments.ts";
import { callback, choice, type Given, integer, option, path, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { balanceColumns } from "./balance-columns.ts";
import { type BertSource, isBert, readBert } from "./bert-form.ts";
import type { ModelConfig } from "./config.ts";
import { readConfig, writeConfig } from "./config-file.ts";
import { openStored, type StoredWeights } from "./load-weights.ts";
import { completeTokenizer, copyModelFiles, writeTokenizer } from "./model-folder.ts";
import { EMBEDDING, parameterNames, parameterShapes } from "./parameter-names.ts";
import { namesToStore } from "./weight-names.ts";

/** Options of `convertModel` that have a flag. */
export const CONVERT_OPTIONS = {
  /** The folder to write: a new one, or an empty one. */
  out: option(path(), { help: "new folder for the converted model", placeholder: "DIR" }),
  /**
   * `fp32`, `fp16`, or `int8`: most matrices as 8-bit integers with float32 scales. A model of int8
   * weights also computes their products with integers, on the cpu.
   */
  precision: option(choice("fp32", "fp16", "int8"), { help: "precision of the weights" }),
  /**
   * Of a BERT: the folder of the encoder of questions, such as DPR's question encoder, or its name
   * on the hub. Default: one encoder for both.
   */
  queryEncoder: option(path().optional(), {
    help: "of a BERT: another encoder for questions, as DPR has it",
    placeholder: "DIR|ORG/NAME",
    defaultText: "that of passages",
  }),
};

const CONVERT = {
  ...CONVERT_OPTIONS,
  /** Writes files with at most this many bytes of tensors. Default: one file. */
  shardBytes: integer(1).optional(),
  /** Reports the download of a model of the Hugging Face hub. */
  onProgress: callback<(progress: DownloadProgress) => void>(),
  ...SIGNAL,
};

export interface ConvertOptions
  extends Given<typeof CONVERT_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof CONVERT> {}

export type Precision = ConvertOptions["precision"];

/**
 * Copies a model with its weights in another precision. All files but the weights are copied,
 * `config.json` last, so that an incomplete copy cannot be loaded. A model of transformers 5, which
 * has a `tokenizer.json` alone, gets the `spiece.model` that `ReAtt.load` reads. Memory does not
 * grow with the model: one tensor is converted after the other.
 *
 * Of a BERT encoder (BERT, sentence-transformers, DPR, ColBERT) it makes a model with
 * the same vectors. Its reader is random: it searches, and answers only once it is trained.
 *
 * `fp16` and `int8` round: indexes of the original model must be built again with the converted
 * one, because its keys differ. With `int8`, matrices that the model has in int8 already stay as
 * they are, and its other matrices are rounded. So after a training that changes no key, indexes
 * stay valid.
 *
 * @param model a folder, a name on the hub, or nothing for the model of this package
 * @returns the bytes of the weights
 * @throws {InputError} if the model cannot be loaded, `out` is not empty, a weight is beyond the
 * range of fp16, or the disk refuses.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { convertModel, ReAtt } from "reatt";
 *
 * const out = join(mkdtempSync(join(tmpdir(), "reatt-")), "int8");
 * await convertModel("models/reatt-mini", { out, precision: "int8" });
 * await using model = await ReAtt.load(out);
 * console.log(model.config.decoder.layers); // 2
 * ```
 */
export async function convertModel(
  model: string | undefined,
  options: ConvertOptions,
): Promise<number> {
  if (model !== undefined) checkPath(model, "model");
  const { out, precision, queryEncoder, shardBytes, ...others } = resolveOptions(CONVERT, options);
  const folder = await locateModel(model, others);
  const hasBert = await isBert(folder);
  if (queryEncoder !== undefined && !hasBert) throw noBert(folder);
  const questions = queryEncoder && (await locateModel(queryEncoder, others));
  const bert = hasBert ? await readBert(folder, questions) : undefined;
  const config = bert?.config ?? (await readConfig(folder));
  await using stored = bert ? floatsOf(bert) : await openStored(folder, config);
  if (precision === "int8" && (await wasTrained(folder))) await warnOfRounding(stored, config);
  if (bert) process.emitWarning(UNREAD, "ReAttWarning");
  await beginFolder(out);
  const tensors = await tensorsOf(stored, config, precision, others.signal);
  const dtype = precision === "fp16" ? "F16" : "F32";
  const bytes = await writeWeights(out, tensors, { dtype, shardBytes });
  await copyModelFiles(folder, out, { weights: false });
  if (bert) await writeTokenizer(out, bert);
  else await completeTokenizer(out);
  await writeConfig(out, config, folder);
  await endFolder(out);
  return bytes;
}

type Floats = Pick<StoredWeights, "read" | "isInt8" | "integers">;

const UNREAD =
  "the encoder becomes a model that searches; its reader is random, so it cannot answer before " +
  "reatt train trains it";

/** The weights of a BERT, none of which are integers. */
const floatsOf = ({ read }: BertSource): Floats & AsyncDisposable => ({
  read,
  isInt8: async () => false,
  integers: async () => undefined,
  [Symbol.asyncDispose]: async () => {},
});

const noBert = (where: string): InputError =>
  new InputError({
    where,
    expected: "a BERT encoder, since queryEncoder is given",
    got: "another model",
    remedy: "leave queryEncoder out",
  });

/** Whether reatt trained the model: its card says so. */
const wasTrained = async (folder: string): Promise<boolean> =>
  /^library_name: reatt$/mu.test(await readFile(join(folder, "README.md"), "utf8").catch(() => ""));

/** A weight that began on a step and moved by less than half a step goes back to it. */
async function warnOfRounding(stored: Floats, config: ModelConfig): Promise<void> {
  for (const name of parameterShapes(config).keys()) if (await stored.isInt8(name)) return;
  process.emitWarning(
    "rounding to the nearest step takes back most of a short training that began with an int8 " +
      "model: train that model again, which writes int8 and rounds at random; or compare both with " +
      "reatt benchmark",
    "ReAttWarning",
  );
}

/**
 * All weights in `precision`. Those of int8 have balanced columns: a model that has int8 weights
 * was balanced when they were rounded.
 */
async function tensorsOf(
  stored: Floats,
  config: ModelConfig,
  precision: Precision,
  signal: AbortSignal | undefined,
): Promise<Map<string, TensorToWrite>> {
  const isInt8 = precision === "int8";
  const shapes = [...parameterShapes(config)];
  const rounded = new Set<string>();
  for (const [name] of isInt8 ? shapes : []) if (await stored.isInt8(name)) rounded.add(name);
  const kept = isInt8 ? keptFloat(config) : () => true;
  const read = isInt8 && rounded.size === 0 ? balanceColumns(config, stored.read) : stored.read;
  const names = namesToStore(config);
  const tensors = shapes.map(([name, shape]): [string, TensorToWrite] => {
    const isInteger = rounded.has(name) || (shape.length === 2 && !kept(name));
    const form = { dtype: "I8", isTable: name === EMBEDDING } as const;
    const values = async () => {
      signal?.throwIfAborted();
      return rounded.has(name) ? (await stored.integers(name))! : read(name);
    };
    return [names.get(name)!, { shape, values, ...(isInteger && form) }];
  });
  return new Map(tensors);
}

/**
 * Matrices that stay in float32 in an int8 model (docs/experiments/precision.md):
 *
 * - the second projection of feed-forward layers, since a few of its inputs in T5 v1.1 are so large
 *   that the steps of the others would be too coarse;
 * - what makes keys and queries of the retrieval head, since their errors are errors of scores;
 * - tables of positions and relative biases and the gate of a decoder that copies, since they are
 *   small.
 */
function keptFloat(config: ModelConfig): (name: string) => boolean {
  const { heads, querySide } = parameterNames(config);
  const retrieval = [heads.query.weight, heads.key.weight, querySide.heads.query.weight];
  return (name) =>
    /\.wo\.|position_embeddings|relative_attention_bias|copy_gate/.test(name) ||
    retrieval.includes(name);
}
