/**
 * The encoder beside others, each in a process of its own that reads a task and prints its
 * processor time, tokenizer included. All have the structure of all-MiniLM-L6-v2: six layers of
 * 384 values. reatt also projects, normalises and writes keys; the others give states alone.
 */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { TOKENS_PER_BATCH } from "../../src/encoder/batching.ts";
import { notInstalled, PEERS, programPath, runPeer, skipped } from "./peers.ts";

export interface EncodingTask {
  /** Folder of the model. */
  readonly model: string;
  /** Folder of the index that reatt writes. */
  readonly index: string;
  readonly texts: readonly string[];
  readonly maxTokens: number;
  /** Tokens of a run, padding included, as reatt has them. */
  readonly tokensPerBatch: number;
  /** Texts of a run of transformers.js, which has no limit of tokens. */
  readonly textsPerBatch: number;
  /** Of transformers.js. */
  readonly dtype: string;
}

export interface EncodingReport {
  /** Processor time. */
  readonly seconds: number;
  /** Peak memory. */
  readonly megabytes: number;
  readonly tokens?: number;
  readonly version: string;
}

/** A line of the table of encoders. */
export interface EncoderRow extends EncodingReport {
  readonly encoder: string;
}

export interface EncoderRows {
  readonly texts: number;
  readonly rows: readonly EncoderRow[];
  readonly skipped: readonly string[];
}

const MINILM = resolve(PEERS, "model");

interface Encoder {
  readonly name: string;
  readonly needs: string;
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly task: Partial<EncodingTask>;
}

const JS = {
  needs: join(PEERS, "node_modules/@huggingface/transformers"),
  command: [process.execPath, programPath("encode.mjs")], // without tsx and its memory
  cwd: PEERS,
};

const encoders = (model: string): Encoder[] => [
  {
    name: "reatt, int8, keys written",
    needs: model,
    command: [process.execPath, "--import", "tsx", programPath("reatt-encode.ts")],
    task: { model },
  },
  {
    name: "onnxruntime in Python, int8",
    needs: join(MINILM, "onnx/model_quantized.onnx"),
    command: [join(PEERS, "venv/bin/python"), programPath("encode.py")],
    task: {},
  },
  { ...JS, name: "transformers.js, q8", task: { dtype: "q8" } },
  { ...JS, name: "transformers.js, fp32", task: { dtype: "fp32" } },
];

/** Encodes the texts with each encoder that is installed. `folder` is for files. */
export async function compareEncoders(
  model: string,
  folder: string,
  texts: readonly string[],
): Promise<EncoderRows> {
  const sizes = { maxTokens: 512, tokensPerBatch: TOKENS_PER_BATCH, textsPerBatch: 4, dtype: "" };
  const rows: EncoderRow[] = [];
  const left: string[] = [];
  const path = resolve(folder, "texts.json");
  for (const { name, needs, command, cwd, task } of encoders(model)) {
    if (!existsSync(needs)) {
      left.push(notInstalled(name));
      continue;
    }
    process.stderr.write(`${name} ...\n`);
    const index = join(folder, "encoded");
    await writeFile(path, JSON.stringify({ model: MINILM, index, texts, ...sizes, ...task }));
    try {
      rows.push({ encoder: name, ...(await runPeer<EncodingReport>([...command, path], cwd)) });
    } catch (error) {
      left.push(skipped(name, error));
    }
  }
  return { texts: texts.length, rows, skipped: left };
}

/** The table, and a line for each encoder that is skipped. */
export function encoderLines({ texts, rows, skipped }: EncoderRows): [string, string][] {
  return [
    ["encoders", `${texts} texts, one thread; processor time, peak memory`],
    ...rows.map(({ encoder, version, seconds, tokens, megabytes }): [string, string] => [
      "",
      `${encoder} ${version}`.trim() +
        `: ${seconds.toFixed(1)} s, ${megabytes} MB${tokens ? `, ${tokens} tokens` : ""}`,
    ]),
    ...skipped.map((line): [string, string] => ["", `skipped: ${line}`]),
  ];
}
