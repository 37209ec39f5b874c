/**
 * The options of loading a model, and of building and opening an index. The commands take their
 * flags from the same tables. Callbacks and other values without a flag are added beside the
 * functions that have them.
 */

import { z } from "zod";
import type { Provider } from "../tensor/session.ts";
import { isLinkBase } from "../text/link.ts";
import { choice, flag, integer, number, option, optionally, path, text } from "./option.ts";

const ENGINE = "Search engine";

/** More threads than any machine has; onnxruntime ends the process if it cannot start them. */
const MAX_THREADS = 1_024;
/** The most candidates of a question; their codes take about 12 kB each. */
const MAX_CANDIDATES = 10_000;
const GIBIBYTE = 2 ** 30;
/** The least share of tokens to index: below it, passages are hard to find. */
const MIN_KEEP_RATIO = 0.25;

/** Options of `ReAtt.load`. */
export const LOAD_OPTIONS = {
  /** The device: `cpu` (default), `webgpu` or `cuda`. */
  provider: option(choice("cpu", "webgpu", "cuda").default("cpu" satisfies Provider), {
    help: "device of onnxruntime",
  }),
  /** Threads of the cpu provider. Default: one for each physical core. */
  threads: option(integer(1, MAX_THREADS).optional(), {
    help: "threads of the cpu provider",
    defaultText: "one for each physical core",
  }),
};

/** The folder that an index is written to. */
export const DIRECTORY = {
  /** The folder of the index, or the address of a collection of a store. */
  directory: option(path(), { help: "folder of the index", placeholder: "DIR" }),
};

/** What writers of an index do beside another one. */
export const WRITE_OPTIONS = {
  /**
   * Seconds to wait for another process that changes the index. Calls of one process wait for each
   * other in any case. Default 0: an error names the process.
   */
  wait: option(number({ from: 0, to: 86_400 }).default(0), {
    help: "seconds to wait for another process that changes the index",
    placeholder: "SECONDS",
  }),
};

const shardRecord = z
  .object({ index: z.int().gte(0), count: z.int().gte(1) }, "{ index, count }")
  .refine(
    ({ index, count }) => index < count,
    "{ index, count } with an index from 0, below count",
  );

/** An address that a path can follow. */
const LINK_BASE = option(
  z.string().refine(isLinkBase, "an address such as https://example.org/docs").optional(),
  {
    help: "the beginning of links to documents; their path or id follows",
    placeholder: "URL",
    defaultText: "the metadata field url",
  },
);

/** A part of an import into a store: its number, and how many there are. */
export const PART = { part: shardRecord.optional() };

/** How an index is built. */
export const INDEX_OPTIONS = {
  /**
   * Bits for each dimension of a key: 1, 2, 4 or 8, or 32 for float32 keys. Default: 2 for token
   * keys of 192 values or more, otherwise 4. Shards and indexes of fewer than 65,536 tokens have
   * float32 keys. Such an index is compressed when an addition makes it larger.
   */
  bits: option(z.literal([1, 2, 4, 8, 32], "1, 2, 4, 8 or 32").optional(), {
    help: "bits of each dimension of a key; 32 does not compress",
    placeholder: "1|2|4|8|32",
    defaultText:
      "2 for token keys of 192 values or more, otherwise 4; 32 for shards and small indexes",
    parse: Number,
  }),
  /** Whether an index in the folder is replaced when the new one is complete. Default: false. */
  replace: option(flag().default(false), { help: "replace an index in the folder" }),
  /**
   * Builds one shard of an index, with float32 keys. `mergeShards` joins and compresses shards.
   * Default: the whole index.
   */
  shard: shardRecord.optional(),
  /**
   * Token pruning: the share of the tokens that get a key, from 0.25 to 1. The pruning layer of the
   * model chooses them (`trainPruning`), by one threshold for all passages. The share is that of
   * the passages it was trained on; others differ by a few percent. Without a layer, each passage
   * keeps the tokens whose keys are farthest from earlier ones. A lower ratio makes the index
   * smaller and retrieval less accurate. Default 1.
   */
  keepRatio: option(number({ from: MIN_KEEP_RATIO, to: 1 }).default(1), {
    help: "share of the tokens that are indexed",
  }),
  /**
   * Whether the index also holds the states of the lower layers for all tokens of its passages, in
   * fp16. Then `answer` does not compute them again. Default: false.
   */
  keepStates: option(flag().default(false), {
    help: "store what reading starts from: faster answers from a larger index",
  }),
  /**
   * The beginning of the addresses of documents, such as `https://example.org/docs`. Hits and
   * sources then link to their documents: the path of the file, or else the id, follows this
   * address. A metadata field `url` has its own. Default: no links but those of such fields.
   */
  linkBase: LINK_BASE,
  /**
   * Default 512, as many as a model reads at once: longer passages are encoded in windows of whole
   * sentences. A lower limit cuts them, as the release does.
   */
  maxPassageTokens: option(integer(2).default(512), {
    help: "longer passages have windows; a limit below 512 cuts them",
  }),
};

/** An index of faiss from a factory string. */
export const FAISS_OPTIONS = {
  /** The factory string of the index. */
  factory: option(text(), {
    help: "factory string of an approximate faiss index, such as IVF1024,PQ16np",
    placeholder: "STRING",
    group: ENGINE,
  }),
  /** Lists that a question token reads, in an index with lists (`IVF`, `IMI`). Default 16. */
  nprobe: option(integer(1).optional(), {
    help: "inverted lists of faiss that are searched for each question token",
    defaultText: "16",
    group: ENGINE,
  }),
};

/** How an index is opened. */
export const OPEN_OPTIONS = {
  /**
   * How onnxruntime searches a compressed index. Default: `exact` if the decoded keys take at most
   * 64 MiB (vectors: up to 524,288) and fit in `memoryLimit`, otherwise `balanced`. The search of
   * float32 keys is always exact.
   */
  preset: option(choice("fast", "balanced", "exact").optional(), {
    help: "how onnxruntime searches a compressed index; a float32 index is searched exactly",
    defaultText: "exact for small indexes (64 MiB of decoded keys), otherwise balanced",
    group: ENGINE,
  }),
  /** What searches: onnxruntime, or another package that is installed. Default `onnxruntime`. */
  engine: z
    .union(
      [
        z.enum(["onnxruntime", "faiss"]),
        z.strictObject({ name: z.literal("faiss"), ...FAISS_OPTIONS }),
      ],
      '"onnxruntime", "faiss" or { name: "faiss", factory }',
    )
    .default("onnxruntime"),
  /**
   * Candidates that a store finds for a question, by the vector and as many by words. More find
   * more of the best passages and take longer. Default 200, and at least two for each passage that
   * is asked for.
   */
  candidates: option(integer(1, MAX_CANDIDATES).default(200), {
    help: "candidates that a store finds for a question, two for each passage at least",
    group: ENGINE,
  }),
  /**
   * Bytes of keys that stay in memory between searches. Default 1 GiB. Other keys are read from
   * disk at every search.
   */
  memoryLimit: z
    .custom<number>(
      (given) => typeof given === "number" && given >= 0, // Infinity is allowed
      "a number of bytes from 0 on",
    )
    .default(GIBIBYTE),
  /**
   * Threads of a search. With the presets `fast` and `balanced`, each of up to 16 threads searches
   * other questions of a batch; else they are those of onnxruntime. Default: one for each core.
   */
  threads: LOAD_OPTIONS.threads,
  /**
   * The beginning of the addresses of documents, as when an index is built. Default: that of the
   * index.
   */
  linkBase: optionally(LINK_BASE, "that of the index"),
  /**
   * What a search over several indexes calls this one by: the `collection` of its hits. Default:
   * the name of its folder.
   */
  collection: option(text().min(1, "a name").optional(), {
    help: "what a search over several indexes calls this one by",
    defaultText: "the name of its folder",
    flag: false,
  }),
};
