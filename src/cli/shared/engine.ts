/** How commands open an index to search it: the engine and its options. */

import { FAISS_OPTIONS, OPEN_OPTIONS } from "../../options/library-options.ts";
import { choice, infoOf, option, optionally, type Resolved } from "../../options/option.ts";
import type { ReAtt } from "../../reatt.ts";
import type { Engine } from "../../retrieval/places/folder/open-engine.ts";
import { joinIndexes } from "../../retrieval/places/joined-index.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { type Progress, startProgress } from "../output/progress.ts";
import type { IndexPlace } from "./file-options.ts";
import { UsageError } from "./usage-error.ts";

const { group } = infoOf(OPEN_OPTIONS.preset) as { readonly group: string };

export const ENGINE_OPTIONS = {
  preset: OPEN_OPTIONS.preset,
  engine: option(choice("onnxruntime", "faiss").default("onnxruntime"), {
    help: "faiss needs the package faiss-node",
    group,
  }),
  faissFactory: optionally(FAISS_OPTIONS.factory, "exact search"),
  faissNprobe: FAISS_OPTIONS.nprobe,
};

/** For commands that show passages. */
export const LINK_OPTION = { linkBase: OPEN_OPTIONS.linkBase };

export type EngineValues = Resolved<typeof ENGINE_OPTIONS>;

/**
 * Opens indexes with the engine of the options, as one, and shows the progress of loading them. An
 * index that belongs to a collection is called by its name.
 */
export async function openToSearch(
  model: ReAtt,
  places: readonly IndexPlace[],
  values: EngineValues & Partial<Resolved<typeof LINK_OPTION>>,
  signal: AbortSignal,
): Promise<TokenIndex> {
  const engine = engineOf(values);
  let progress: Progress | undefined;
  const opened: TokenIndex[] = [];
  try {
    for (const { directory, collection, linkBase } of places)
      opened.push(
        await model.openIndex(directory, {
          preset: values.preset,
          engine,
          collection,
          linkBase: values.linkBase ?? linkBase,
          onProgress: ({ tokens, total }) => {
            progress ??= startProgress("tokens", total);
            progress.update(tokens);
          },
          signal,
        }),
      );
    return joinIndexes(opened);
  } catch (error) {
    await Promise.all(opened.map((index) => index.close()));
    throw error;
  } finally {
    progress?.stop();
  }
}

/** @throws {UsageError} for options of another engine */
export function engineOf(values: Omit<EngineValues, "preset">): Engine {
  const { engine: name, faissFactory, faissNprobe } = values;
  const given = { "faiss-factory": faissFactory, "faiss-nprobe": faissNprobe };
  for (const [flag, value] of Object.entries(given))
    if (value !== undefined && !flag.startsWith(name))
      throw new UsageError(`--${flag} is for another engine than ${name}`);
  if (name === "faiss" && faissFactory !== undefined)
    return { name, factory: faissFactory, nprobe: faissNprobe };
  if (faissNprobe !== undefined)
    throw new UsageError("--faiss-nprobe needs --faiss-factory STRING");
  return name;
}
