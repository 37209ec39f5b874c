/** How the commands that search open an index: what searches it, and the progress of one that makes its own copy first. */

import type { ReAtt } from "../reatt.ts";
import type { Engine } from "../retrieval/open-index.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { UsageError, type Values } from "./options.ts";
import { type Progress, startProgress } from "./progress.ts";

export const ENGINE_OPTIONS = {
  preset: {
    kind: "choice",
    help: "how onnxruntime searches a compressed index; one of float32 is searched exactly",
    choices: ["fast", "balanced", "exact"],
    default: "balanced",
  },
  engine: {
    kind: "choice",
    help: "what searches; faiss needs the package faiss-node, lancedb @lancedb/lancedb",
    choices: ["onnxruntime", "faiss", "lancedb"],
    default: "onnxruntime",
  },
  "faiss-factory": {
    kind: "text",
    placeholder: "STRING",
    help: "an approximate index of faiss, such as IVF1024,PQ16np; without it, faiss is exact",
  },
  "faiss-nprobe": {
    kind: "integer",
    help: "lists of it that a question token reads (16)",
    minimum: 1,
  },
  "lancedb-uri": {
    kind: "text",
    placeholder: "URI",
    help: "the table that reatt index export made",
  },
  "lancedb-nprobe": {
    kind: "integer",
    help: "partitions of it that a question token reads (16)",
    minimum: 1,
  },
} as const;

type EngineValues = Values<typeof ENGINE_OPTIONS>;

/** Opens an index as the options say. */
export async function openToSearch(
  model: ReAtt,
  directory: string,
  values: EngineValues,
  signal: AbortSignal,
): Promise<TokenIndex> {
  let progress: Progress | undefined;
  return model
    .openIndex(directory, {
      preset: values.preset,
      engine: parseEngine(values),
      onProgress: ({ tokens, total }) => {
        progress ??= startProgress("tokens", total);
        progress.update(tokens);
      },
      signal,
    })
    .finally(() => progress?.stop());
}

/** @throws {UsageError} for options of another engine than the one that is named. */
export function parseEngine(values: Omit<EngineValues, "preset">): Engine {
  const { engine: name, "faiss-factory": factory, "lancedb-uri": uri } = values;
  for (const option of ["faiss-factory", "faiss-nprobe", "lancedb-uri", "lancedb-nprobe"] as const)
    if (values[option] !== undefined && !option.startsWith(name))
      throw new UsageError(`--${option} is for another engine than ${name}`);
  if (name === "lancedb") {
    if (uri === undefined) throw new UsageError("--engine lancedb needs --lancedb-uri URI");
    return { name, uri, nprobe: values["lancedb-nprobe"] };
  }
  if (name === "faiss" && factory !== undefined)
    return { name, factory, nprobe: values["faiss-nprobe"] };
  if (values["faiss-nprobe"] !== undefined)
    throw new UsageError("--faiss-nprobe is for an index that --faiss-factory describes");
  return name;
}
