/** How the commands that search open an index: what searches it, and the progress of one that makes its own copy first. */

import type { ReAtt } from "../reatt.ts";
import type { Engine, PresetName } from "../retrieval/open.ts";
import type { TokenIndex } from "../retrieval/token-index.ts";
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
    help: "what searches; faiss needs the package faiss-node",
    choices: ["onnxruntime", "faiss"],
    default: "onnxruntime",
  },
  "faiss-factory": {
    kind: "text",
    placeholder: "STRING",
    help: "an approximate index of faiss, such as IVF1024,PQ16np; without it, faiss is exact",
  },
  "faiss-nprobe": { kind: "integer", help: "lists of it that a question token reads (16)", minimum: 1 },
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
      preset: values.preset as PresetName,
      engine: parseEngine(values),
      onProgress: ({ tokens, total }) => {
        progress ??= startProgress("tokens", total);
        progress.update(tokens);
      },
      signal,
    })
    .finally(() => progress?.stop());
}

export function parseEngine({
  engine,
  "faiss-factory": factory,
  "faiss-nprobe": nprobe,
}: Omit<EngineValues, "preset">): Engine {
  if (engine !== "faiss" && (factory !== undefined || nprobe !== undefined))
    throw new UsageError("--faiss-factory and --faiss-nprobe are for --engine faiss");
  if (engine !== "faiss") return "onnxruntime";
  if (factory !== undefined) return { name: "faiss", factory, nprobe };
  if (nprobe !== undefined)
    throw new UsageError("--faiss-nprobe is for an index that --faiss-factory describes");
  return "faiss";
}
