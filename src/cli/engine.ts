/** How commands open an index to search it: the engine and its options. */

import { choice, integer, option, type Resolved, text } from "../options/option.ts";
import type { ReAtt } from "../reatt.ts";
import type { Engine, PresetName } from "../retrieval/open-index.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { type Progress, startProgress } from "./progress.ts";
import { UsageError } from "./usage-error.ts";

const ENGINE = "Search engine";

export const ENGINE_OPTIONS = {
  preset: option(choice("fast", "balanced", "exact").default("balanced" satisfies PresetName), {
    help: "how onnxruntime searches a compressed index; a float32 index is searched exactly",
    group: ENGINE,
  }),
  engine: option(choice("onnxruntime", "faiss", "lancedb").default("onnxruntime"), {
    help: "faiss needs the package faiss-node, lancedb the package @lancedb/lancedb",
    group: ENGINE,
  }),
  faissFactory: option(text().optional(), {
    help: "factory string of an approximate faiss index, such as IVF1024,PQ16np",
    placeholder: "STRING",
    defaultText: "exact search",
    group: ENGINE,
  }),
  faissNprobe: option(integer(1).optional(), {
    help: "inverted lists of faiss that are searched for each question token",
    defaultText: "16",
    group: ENGINE,
  }),
  lancedbUri: option(text().optional(), {
    help: "the table that reatt index export wrote",
    placeholder: "URI",
    group: ENGINE,
  }),
  lancedbNprobe: option(integer(1).optional(), {
    help: "partitions of the table that are searched for each question token",
    defaultText: "16",
    group: ENGINE,
  }),
};

export type EngineValues = Resolved<typeof ENGINE_OPTIONS>;

/** Opens an index with the engine of the options, and shows the progress of loading it. */
export async function openToSearch(
  model: ReAtt,
  directory: string,
  values: EngineValues,
  signal: AbortSignal,
): Promise<TokenIndex> {
  const engine = engineOf(values);
  let progress: Progress | undefined;
  return model
    .openIndex(directory, {
      preset: values.preset,
      engine,
      onProgress: ({ tokens, total }) => {
        progress ??= startProgress("tokens", total);
        progress.update(tokens);
      },
      signal,
    })
    .finally(() => progress?.stop());
}

/** @throws {UsageError} for options of another engine */
export function engineOf(values: Omit<EngineValues, "preset">): Engine {
  const { engine: name, faissFactory, faissNprobe, lancedbUri, lancedbNprobe } = values;
  const given = {
    "faiss-factory": faissFactory,
    "faiss-nprobe": faissNprobe,
    "lancedb-uri": lancedbUri,
    "lancedb-nprobe": lancedbNprobe,
  };
  for (const [flag, value] of Object.entries(given))
    if (value !== undefined && !flag.startsWith(name))
      throw new UsageError(`--${flag} is for another engine than ${name}`);
  if (name === "lancedb") {
    if (lancedbUri === undefined) throw new UsageError("--engine lancedb needs --lancedb-uri URI");
    return { name, uri: lancedbUri, nprobe: lancedbNprobe };
  }
  if (name === "faiss" && faissFactory !== undefined)
    return { name, factory: faissFactory, nprobe: faissNprobe };
  if (faissNprobe !== undefined)
    throw new UsageError("--faiss-nprobe needs --faiss-factory STRING");
  return name;
}
