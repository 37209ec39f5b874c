/**
 * The memory of SentencePiece once it has loaded a model. To load T5's 32,000 pieces takes a tenth
 * of the time in which a command answers, to read what was made of them hardly any.
 *
 * The files are in `tokenizers` of the user's cache (user-cache.ts). Their names are digests of all
 * that decides what is in them: the program, the model and the version of reatt, which checked it.
 * A file has the digest of what follows, three numbers of the vocabulary, and the memory up to its
 * last used byte.
 *
 * Source: the memory snapshots of Pyodide, another program of Emscripten.
 */

import { createHash } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openFile } from "../../io/open-file.ts";
import { cachedFile, writeCached } from "../../io/user-cache.ts";

/** What a tokenizer knows of its pieces. */
export interface Vocabulary {
  readonly pieces: number;
  /** The id of `</s>`. */
  readonly eosId: number;
  /** The id of `<unk>`. */
  readonly unknownId: number;
}

interface KeptMemory {
  readonly vocabulary: Vocabulary;
  readonly memory: Uint8Array;
}

/** The memory of each model has 6 MB. */
const KEPT = 4;
/** The memory of Emscripten before it grows. */
const MAX_BYTES = 2 ** 24;
const DIGEST_BYTES = 32;
const HEADER_BYTES = DIGEST_BYTES + 3 * Int32Array.BYTES_PER_ELEMENT;

/** The name of a file that is made of these parts alone. */
export function keyOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex");
}

/** Undefined if nothing is kept, or something else than was written. */
export async function readMemory(key: string): Promise<KeptMemory | undefined> {
  try {
    await using file = await openFile(pathOf(key));
    const { size } = await file.stat();
    if (size > MAX_BYTES + HEADER_BYTES) return undefined;
    const bytes = Buffer.allocUnsafe(size);
    await file.read(bytes, 0, size, 0);
    if (!digestOf(bytes).equals(bytes.subarray(0, DIGEST_BYTES))) return undefined;
    const [pieces, eosId, unknownId] = [0, 4, 8].map((at) => bytes.readInt32LE(DIGEST_BYTES + at));
    return {
      vocabulary: { pieces: pieces!, eosId: eosId!, unknownId: unknownId! },
      memory: bytes.subarray(HEADER_BYTES),
    };
  } catch {
    return undefined;
  }
}

/** Keeps the memory of a model, and no longer that of the model that was kept first. */
export async function keepMemory(key: string, { vocabulary, memory }: KeptMemory): Promise<void> {
  const bytes = Buffer.alloc(HEADER_BYTES + memory.length);
  const { pieces, eosId, unknownId } = vocabulary;
  for (const [i, value] of [pieces, eosId, unknownId].entries())
    bytes.writeInt32LE(value, DIGEST_BYTES + 4 * i);
  bytes.set(memory, HEADER_BYTES);
  bytes.set(digestOf(bytes));
  await writeCached(pathOf(key), bytes);
  await forgetFirst(dirname(pathOf(key))).catch(() => {}); // another process did
}

const pathOf = (key: string): string => cachedFile("tokenizers", key);

const digestOf = (bytes: Uint8Array): Buffer =>
  createHash("sha256").update(bytes.subarray(DIGEST_BYTES)).digest();

async function forgetFirst(folder: string): Promise<void> {
  const paths = (await readdir(folder)).map((name) => join(folder, name));
  if (paths.length <= KEPT) return;
  const files = await Promise.all(
    paths.map(async (path) => ({ path, time: (await stat(path)).mtimeMs })),
  );
  files.sort((a, b) => b.time - a.time);
  for (const { path } of files.slice(KEPT)) await rm(path, { force: true });
}
