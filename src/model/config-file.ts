/** `config.json` of a model: in the form of this package, or in that of Hugging Face's T5. */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { InputError, systemProblem } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { parseJson } from "../io/json/parse-json.ts";
import { replaceFile } from "../io/replace-file.ts";
import { readSmallFile } from "../io/small-file.ts";
import { checkEmptyFolder } from "../io/unfinished-folder.ts";
import { contradiction, type ModelConfig, ModelSchema } from "./config.ts";
import {
  FLOAT_KEYS,
  fromT5File,
  IGNORED_KEYS,
  PARSING,
  sourceOf,
  T5File,
  toT5File,
} from "./t5-form.ts";

export const CONFIG_FILE = "config.json";
const MAX_BYTES = 1_000_000; // the largest of T5 has 3 kB

type Keys = Readonly<Record<string, unknown>>;

/**
 * Reads and checks `config.json`. A file that has the key `joint` is of this package; others are of
 * a T5 v1.0 or v1.1. Without ReAtt's keys, head 0 of the middle block of a T5 retrieves. A key with
 * the value `null` counts as absent.
 *
 * @throws {InputError} that names the key: its value is not supported, it contradicts another key,
 * or it is unknown. An unknown key is an error because it can change what the model computes.
 */
export async function readConfig(folder: string): Promise<ModelConfig> {
  const file = join(folder, CONFIG_FILE);
  const keys = await readObject(file);
  return isOwnForm(keys) ? readOwnForm(file, keys) : readT5Form(file, keys);
}

const isOwnForm = (keys: Keys): boolean => "joint" in keys;

function readOwnForm(file: string, { model_type: _, ...keys }: Keys): ModelConfig {
  const parsed = ModelSchema.safeParse(keys, PARSING);
  if (!parsed.success) throw explain(file, parsed.error.issues[0]!, "the keys of this package");
  const found = contradiction(parsed.data);
  if (found) throw unusable(file, found.path, found.expected, valueAt(parsed.data, found.path));
  return parsed.data;
}

const valueAt = (tree: object, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Keys | undefined)?.[key], tree);

function readT5Form(file: string, keys: Keys): ModelConfig {
  const entries = Object.entries(keys);
  const relevant = entries.filter(([key, value]) => value !== null && !IGNORED_KEYS.has(key));
  const parsed = T5File.safeParse(Object.fromEntries(relevant), PARSING);
  if (!parsed.success) throw explain(file, parsed.error.issues[0]!, "those of T5 and ReAtt");
  checkT5(file, parsed.data);
  const config = fromT5File(parsed.data);
  const found = contradiction(config);
  if (!found) return config;
  const key = sourceOf(found.path);
  throw unusable(
    file,
    key,
    found.expected.replace(/\bpooling\b/, "retrieval_pooling"),
    valueAt(parsed.data, key),
  );
}

/** Checks keys of T5 that have no place in a `ModelConfig`. */
function checkT5(file: string, keys: T5File): void {
  const { num_layers: layers, feed_forward_proj: proj } = keys;
  const gated = proj === "gated-gelu";
  const activation = proj === "relu" ? "relu" : "gelu_new";
  const isBelow = (keys.retrieval_layer ?? 0) < layers;
  const agreements: [key: keyof T5File, agrees: boolean, expected: string][] = [
    ["retrieval_layer", isBelow, `a block from 0 to ${layers - 1}`],
    [
      "dense_act_fn",
      (keys.dense_act_fn ?? activation) === activation,
      `${activation}, by feed_forward_proj`,
    ],
    ["is_gated_act", (keys.is_gated_act ?? gated) === gated, `${gated}, by feed_forward_proj`],
    [
      "scale_decoder_outputs",
      keys.tie_word_embeddings || !keys.scale_decoder_outputs,
      "false, by tie_word_embeddings",
    ],
  ];
  const found = agreements.find(([, agrees]) => !agrees);
  if (found) throw unusable(file, found[0], found[2], keys[found[0]]);
}

/**
 * Whether `config.json` names the heads that retrieve, or a pooling of all heads. Only models that
 * were trained to do.
 */
export async function hasRetrievalHead(folder: string): Promise<boolean> {
  const keys = await readObject(join(folder, CONFIG_FILE));
  const names = ["retrieval_head", "retrieval_heads", "retrieval_pooling"];
  return isOwnForm(keys) || names.some((key) => key in keys);
}

/** @throws {InputError} if `out` has a model, or other files, which the new ones could replace */
export async function checkNoModel(
  out: string,
  remedy: string = "name another folder",
): Promise<void> {
  const isFree = await access(join(out, CONFIG_FILE)).then(
    () => false,
    () => true,
  );
  if (isFree) return checkEmptyFolder(out);
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: out,
    expected: "a folder without a model",
    got: CONFIG_FILE,
    remedy,
  });
}

/**
 * Writes `config.json`. A T5 is written in the form of Hugging Face's T5, which loads the folder
 * and ignores the keys that it does not know.
 *
 * @param original the folder of the original model; of a T5, its other keys are copied
 * @throws {InputError} if the file cannot be written. A file that exists then stays unchanged.
 */
export async function writeConfig(
  folder: string,
  config: ModelConfig,
  original?: string,
): Promise<void> {
  const t5 = toT5File(config);
  const keys = t5 ? await t5Keys(t5, original) : { model_type: "reatt", ...config };
  const text = `${withFloats(keys)}\n`;
  await replaceFile(join(folder, CONFIG_FILE), (handle) => handle.writeFile(text));
}

/** JSON in which numbers of {@link FLOAT_KEYS} have a point: transformers 5 refuses 1 as 1.0. */
function withFloats(keys: Keys): string {
  const isWhole = (key: string, value: unknown): boolean =>
    FLOAT_KEYS.has(key) && Number.isSafeInteger(value);
  const mark = "\u0000";
  const text = JSON.stringify(
    keys,
    (key, value) => (isWhole(key, value) ? `${mark}${value}.0` : value),
    2,
  );
  return text.replace(/"\\u0000(-?\d+\.0)"/g, "$1");
}

/** The keys of a T5, and those of its original that are no keys of the configuration. */
async function t5Keys(t5: T5File, original: string | undefined): Promise<Keys> {
  const before = original === undefined ? {} : await readObject(join(original, CONFIG_FILE));
  // The data type is left out: the weight file has it.
  const { torch_dtype, dtype, ...kept } = isOwnForm(before) ? {} : before;
  const others = Object.entries(kept).filter(([key]) => !(key in WRITTEN));
  const names = { architectures: ["T5ForConditionalGeneration"], is_encoder_decoder: true };
  const scaled =
    "scale_decoder_outputs" in kept ? { scale_decoder_outputs: t5.tie_word_embeddings } : {};
  const heads = t5.retrieval_heads === 1 ? undefined : t5.retrieval_heads; // as in ReAtt
  const own = { ...names, ...t5, model_type: "t5", retrieval_heads: heads };
  return { ...Object.fromEntries(others), ...own, ...scaled };
}

/** The keys that say what the configuration says: a value of the original is no longer right. */
const WRITTEN: Keys = T5File.shape;

function explain(file: string, issue: z.core.$ZodIssue, keys: string): InputError {
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    const remedy = "remove the key if the model computes the same without it";
    return unusable(
      file,
      [...issue.path, key].join("."),
      `no key beyond ${keys}`,
      issue.input?.[key],
      remedy,
    );
  }
  const expected = issue.message.replace(/^.*?expected /, "").replace(/, received .*$/, "");
  return unusable(file, issue.path.join("."), expected, issue.input);
}

function unusable(
  file: string,
  key: string,
  expected: string,
  value: unknown,
  remedy?: string,
): InputError {
  return new InputError({
    where: `${file}: ${key}`,
    expected,
    got: value === undefined ? "nothing" : excerpt(value),
    remedy: remedy ?? "use a T5 v1.0 or v1.1 model, with ReAtt's keys or without",
  });
}

/** @throws {InputError} if the file is no JSON object */
export async function readObject(file: string): Promise<Record<string, unknown>> {
  try {
    const text = (await readSmallFile(file, MAX_BYTES)).toString();
    return z.record(z.string(), z.unknown()).parse(parseJson(text, file));
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    const unreadable = (cause as NodeJS.ErrnoException).code !== undefined;
    const got = unreadable ? systemProblem(cause) : "something else";
    throw new InputError(
      {
        where: file,
        expected: "a JSON object",
        got,
        remedy: "give the folder of a Hugging Face model",
      },
      { cause },
    );
  }
}
