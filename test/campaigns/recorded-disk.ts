/**
 * A simulated disk for power cuts and kills. `recordDisk` records what a program does to the files
 * of a folder; `Disk` replays a prefix of the record and says what survives a fault after it.
 *
 * The recorder replaces functions of node:fs/promises in this process (`syncBuiltinESMExports`
 * changes the named imports too), so the code under test needs no hooks.
 */

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import fsp, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Random } from "../../src/math/random.ts";

/** One recorded change. Paths are relative to the recorded folder; "" is the folder itself. */
export type Change =
  | { readonly kind: "open"; readonly handle: number; readonly path: string }
  | { readonly kind: "create"; readonly path: string }
  | { readonly kind: "mkdir"; readonly path: string }
  | { readonly kind: "unlink"; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  | FileChange
  | { readonly kind: "sync"; readonly handle: number }
  | { readonly kind: "done" }; // the program has reported a change as complete

type FileChange =
  | { kind: "write"; handle: number; position: number; data: Buffer }
  | { kind: "truncate"; handle: number; length: number };

/** Files and folders by name. */
export type Tree = Map<string, Buffer | Tree>;

export interface Recording {
  /** The content of the folder before the first change. */
  readonly before: Tree;
  readonly changes: readonly Change[];
}

/** Records what `run` changes in `root`. `done` marks that a change is complete. */
export async function recordDisk(
  root: string,
  run: (done: () => void) => Promise<void>,
): Promise<Recording> {
  const before = readTree(root);
  const changes: Change[] = [];
  const restore = install(resolve(root), (change) => changes.push(change));
  try {
    await run(() => changes.push({ kind: "done" }));
  } finally {
    restore();
  }
  const disk = new Disk(before);
  for (const change of changes) disk.apply(change);
  if (!isDeepStrictEqual(disk.contents(), readTree(root)))
    throw new Error("the recorder has missed a change");
  return { before, changes };
}

export function readTree(folder: string): Tree {
  const tree: Tree = new Map();
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort(byName)) {
    const path = join(folder, entry.name);
    tree.set(entry.name, entry.isDirectory() ? readTree(path) : readFileSync(path));
  }
  return tree;
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

type Listener = (change: Change) => void;

/** Replaces the functions that change files. Returns a function that puts them back. */
function install(root: string, record: Listener): () => void {
  const original = { ...fsp };
  const inside = (path: unknown): string | undefined => {
    const name = relative(root, resolve(String(path)));
    return name.startsWith("..") ? undefined : name;
  };
  let handles = 0;
  const replaced = {
    open: async (path: string, flags: string | number = "r", mode?: number) => {
      const name = inside(path);
      const existed = name !== undefined && exists(path);
      const file = await original.open(path, flags, mode);
      if (name === undefined) return file;
      if (!existed) record({ kind: "create", path: name });
      const handle = handles++;
      record({ kind: "open", handle, path: name });
      if (existed && typeof flags === "string" && flags.startsWith("w"))
        record({ kind: "truncate", handle, length: 0 });
      return watched(file, handle, flags === "a", record);
    },
    mkdir: async (path: string, options?: { recursive?: boolean }) => {
      const name = inside(path);
      const missing: string[] = [];
      for (let at = name; at && !exists(join(root, at)); at = parentOf(at)) missing.unshift(at);
      const result = await original.mkdir(path, options);
      for (const path of missing) record({ kind: "mkdir", path });
      return result;
    },
    rename: async (from: string, to: string) => {
      await original.rename(from, to);
      if (inside(to) !== undefined)
        record({ kind: "rename", from: inside(from)!, to: inside(to)! });
    },
    rm: async (path: string, options?: { recursive?: boolean; force?: boolean }) => {
      const name = inside(path);
      const gone = name !== undefined && exists(path) ? contentsOf(root, name) : [];
      await original.rm(path, options);
      for (const path of gone) record({ kind: "unlink", path });
    },
    rmdir: async (path: string) => {
      await original.rmdir(path);
      const name = inside(path);
      if (name !== undefined) record({ kind: "unlink", path: name });
    },
    copyFile: async (from: string, to: string) => {
      const data = readFileSync(from);
      const file = await replaced.open(to, "w");
      await file.writeFile(data);
      await file.close();
    },
  };
  Object.assign(fsp, replaced);
  syncBuiltinESMExports();
  return () => {
    Object.assign(fsp, original);
    syncBuiltinESMExports();
  };
}

type Write = (
  data: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ readonly bytesWritten: number }>;

/** Records the changes that go through a file handle. */
function watched(file: FileHandle, handle: number, appends: boolean, record: Listener): FileHandle {
  const { writeFile, appendFile, truncate, sync, datasync } = file;
  const write: Write = file.write.bind(file);
  const size = async () => (await file.stat()).size;
  let end = 0; // of what writeFile has written
  const append = async (data: string | Uint8Array, run: () => Promise<void>) => {
    const position = appends ? await size() : end;
    await run();
    const bytes = Buffer.from(data as Uint8Array);
    end = position + bytes.length;
    record({ kind: "write", handle, position, data: bytes });
  };
  return Object.assign(file, {
    write: async (data: Uint8Array, offset: number, length: number, position: number) => {
      const result = await write(data, offset, length, position);
      const bytes = Buffer.from(data.subarray(offset, offset + result.bytesWritten));
      record({ kind: "write", handle, position, data: bytes });
      return result;
    },
    writeFile: (data: string | Uint8Array) => append(data, () => writeFile.call(file, data)),
    appendFile: (data: string | Uint8Array) => append(data, () => appendFile.call(file, data)),
    truncate: async (length = 0) => {
      await truncate.call(file, length);
      record({ kind: "truncate", handle, length });
    },
    sync: async () => {
      await sync.call(file);
      record({ kind: "sync", handle });
    },
    datasync: async () => {
      await datasync.call(file);
      record({ kind: "sync", handle });
    },
  }) as FileHandle;
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
const parentOf = (path: string): string => path.split(sep).slice(0, -1).join(sep);

/** A path and everything below it, children first. */
function contentsOf(root: string, path: string): string[] {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) return [path];
  return [...readdirSync(full).flatMap((name) => contentsOf(root, join(path, name))), path];
}

interface File {
  data: Buffer;
  durable: Buffer;
  /** Changes since the last sync. */
  pending: FileChange[];
}

interface Folder {
  readonly entries: Map<string, Node>;
  durable: Map<string, Node>;
  /** Changed names since the last sync. */
  pending: Set<string>;
}

type Node = File | Folder;

/** The lock of a writer, of which the disk keeps the name. */
const LOCK = /^(writer\..+\.)\d+(\.lock)$/;

/** Writes a tree to a new folder. Its locks are those of a process that has ended. */
export function writeTree(tree: Tree, folder: string): void {
  mkdirSync(folder);
  for (const [name, child] of tree) {
    const path = join(folder, name.replace(LOCK, "$11$2"));
    if (Buffer.isBuffer(child)) writeFileSync(path, child);
    else writeTree(child, path);
  }
}

/**
 * What survives:
 * - `killed`: everything that the process did before it was killed, and perhaps a part of what it
 *   was writing
 * - `ordered`: everything that was written before it, as with the option `data=journal` of ext4
 * - `strict`: only what was synced, as POSIX promises: the data of a file by fsync of the file, a
 *   name by fsync of its directory
 * - `mixed`: what was synced, and a random part of the rest, in any order
 */
export type Mode = "killed" | "ordered" | "strict" | "mixed";

export class Disk {
  readonly #root: Folder;
  readonly #handles = new Map<number, Node>();

  constructor(before: Tree) {
    this.#root = durableFolder(before);
  }

  apply(change: Change): void {
    switch (change.kind) {
      case "open":
        this.#handles.set(change.handle, this.#node(change.path));
        break;
      case "create":
        this.#link(change.path, emptyFile());
        break;
      case "mkdir":
        this.#link(change.path, durableFolder(new Map()));
        break;
      case "unlink":
        this.#link(change.path, undefined);
        break;
      case "rename": {
        const node = this.#node(change.from);
        this.#link(change.from, undefined);
        this.#link(change.to, node);
        break;
      }
      case "sync":
        syncNode(this.#handles.get(change.handle)!);
        break;
      case "done":
        break;
      default: {
        const file = this.#handles.get(change.handle) as File;
        file.data = changed(file.data, change);
        file.pending.push(change);
      }
    }
  }

  /** What a fault at this moment leaves, in the middle of the change `next`. */
  survivors(mode: Mode, random: Random, next?: Change): Tree {
    if (mode !== "killed" || next?.kind !== "write") return surviving(this.#root, mode, random);
    const file = this.#handles.get(next.handle) as File;
    const { data } = file;
    const part = next.data.subarray(0, random.integer(next.data.length + 1));
    file.data = changed(data, { ...next, data: part });
    try {
      return surviving(this.#root, mode, random);
    } finally {
      file.data = data;
    }
  }

  /** Everything that was done. */
  contents(): Tree {
    return surviving(this.#root, "ordered", undefined);
  }

  #node(path: string): Node {
    let node: Node = this.#root;
    for (const name of path.split(sep)) if (name) node = (node as Folder).entries.get(name)!;
    return node;
  }

  #link(path: string, node: Node | undefined): void {
    const folder = this.#node(parentOf(path)) as Folder;
    const name = path.split(sep).at(-1)!;
    if (node) folder.entries.set(name, node);
    else folder.entries.delete(name);
    folder.pending.add(name);
  }
}

const emptyFile = (): File => ({ data: Buffer.alloc(0), durable: Buffer.alloc(0), pending: [] });

function durableFolder(tree: Tree): Folder {
  const entries = new Map<string, Node>();
  for (const [name, child] of tree)
    entries.set(
      name,
      Buffer.isBuffer(child) ? { data: child, durable: child, pending: [] } : durableFolder(child),
    );
  return { entries, durable: new Map(entries), pending: new Set() };
}

function changed(data: Buffer, change: FileChange): Buffer {
  const size = change.kind === "write" ? change.position + change.data.length : change.length;
  const result = Buffer.alloc(change.kind === "write" ? Math.max(size, data.length) : size);
  data.copy(result);
  if (change.kind === "write") change.data.copy(result, change.position);
  return result;
}

function syncNode(node: Node): void {
  if ("data" in node) {
    node.durable = node.data;
    node.pending = [];
  } else {
    node.durable = new Map(node.entries);
    node.pending = new Set();
  }
}

function surviving(folder: Folder, mode: Mode, random: Random | undefined): Tree {
  const names = new Map(mode === "ordered" || mode === "killed" ? folder.entries : folder.durable);
  if (mode === "mixed")
    for (const name of folder.pending)
      if (random!.integer(2) === 1) {
        const node = folder.entries.get(name);
        if (node) names.set(name, node);
        else names.delete(name);
      }
  const tree: Tree = new Map();
  for (const [name, node] of [...names].sort(([a], [b]) => (a < b ? -1 : 1)))
    tree.set(
      name,
      "data" in node ? survivingData(node, mode, random) : surviving(node, mode, random),
    );
  return tree;
}

function survivingData(file: File, mode: Mode, random: Random | undefined): Buffer {
  if (mode === "ordered" || mode === "killed") return file.data;
  if (mode === "strict") return file.durable;
  return file.pending
    .filter(() => random!.integer(2) === 1)
    .reduce((data, change) => changed(data, change), file.durable);
}
