/**
 * Other engines of token vectors over the vectors of an index, each in a process of its own:
 * `program build TASK.json` writes an index, `program search TASK.json` asks the questions, the
 * first ten of them once more before. `benchmarks/peers/install` installs them. One that is
 * missing, or that ends with an error, is named and skipped.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openFile } from "../../src/io/open-file.ts";
import { type Bits, float32Decoder } from "../../src/retrieval/codec/codec.ts";
import { readManifest } from "../../src/retrieval/index/format/manifest.ts";
import { viewBytes } from "../../src/retrieval/index/format/new-files.ts";
import { openSegments } from "../../src/retrieval/index/format/snapshot.ts";
import { openStore } from "../../src/retrieval/index/format/store.ts";
import { filesBelow } from "../../test/campaigns/files-below.ts";
import { recallAt } from "../bench-index/search.ts";

/** What a program does. Files have float32 values, [vectors, dimension]. */
export interface SearchTask {
  /** Folder of reatt's index of float32 keys. */
  readonly exact: string;
  /** Folder of the index of the program. */
  readonly index: string;
  readonly keys: string;
  /** Number of keys of each passage. */
  readonly keyCounts: readonly number[];
  readonly questions: string;
  /** Number of vectors of each question. */
  readonly questionCounts: readonly number[];
  readonly dimension: number;
  readonly bits: Bits;
  readonly topK: number;
  /** Options of the program; its defaults where absent. */
  readonly options: { readonly probes?: number; readonly pruning?: boolean };
}

/** What a program prints. */
export interface PeerReport {
  /** Processor time of the build, or of all questions. */
  readonly seconds: number;
  /** Peak memory of the process. */
  readonly megabytes: number;
  /** Ordinals of the best passages of each question. */
  readonly found: readonly (readonly number[])[];
  readonly version: string;
}

/** A line of the table of engines. */
export interface EngineRow {
  readonly engine: string;
  readonly bits: Bits;
  readonly options: string;
  /** Processor seconds of the build, and its peak memory with the float32 keys. */
  readonly build: number;
  readonly buildMegabytes: number;
  readonly bytesPerToken: number;
  /** Processor time of a question. */
  readonly milliseconds: number;
  readonly searchMegabytes: number;
  /** Shares of the best passages by float32 keys. */
  readonly recallAt10: number;
  readonly recallAt100: number;
}

export interface EngineRows {
  readonly passages: number;
  readonly tokens: number;
  readonly dimension: number;
  readonly rows: readonly EngineRow[];
  /** Names of the engines that are missing or failed, with the reason. */
  readonly skipped: readonly string[];
}

const run = promisify(execFile);
/** Path of a file of `benchmarks/peers`. */
export const programPath = (path: string): string =>
  fileURLToPath(new URL(`../peers/${path}`, import.meta.url));

/** Folder of what `benchmarks/peers/install` installs. */
export const PEERS = ".build/peers";
const PYTHON = join(PEERS, "venv/bin/python");

interface Engine {
  readonly name: string;
  /** The file that has to be there, and the command. */
  readonly needs: string;
  readonly command: readonly string[];
  /** Options of searches, each with its name in the table. */
  readonly searches: Readonly<Record<string, SearchTask["options"]>>;
}

const NEXT_PLAID = join(PEERS, "target/release/next-plaid-peer");
const PACKAGES = join(PEERS, "venv/lib");
const ENGINES: readonly Engine[] = [
  {
    name: "reatt",
    needs: programPath("reatt.ts"),
    command: [process.execPath, "--import", "tsx", programPath("reatt.ts")],
    searches: { balanced: {} },
  },
  {
    name: "next-plaid",
    needs: NEXT_PLAID,
    command: [NEXT_PLAID],
    searches: { defaults: {}, "no pruning": { pruning: false } },
  },
  {
    name: "fast-plaid",
    needs: PACKAGES,
    command: [PYTHON, programPath("search.py"), "fast-plaid"],
    searches: { defaults: {} },
  },
  {
    name: "xtr-warp-rs",
    needs: PACKAGES,
    command: [PYTHON, programPath("search.py"), "xtr-warp-rs"],
    searches: { defaults: {}, "nprobe 128": { probes: 128 } },
  },
];

/** One thread for each library of threads that a peer may use, and no file beside its program. */
const ENVIRONMENT = {
  ...process.env,
  PYTHONDONTWRITEBYTECODE: "1",
  RAYON_NUM_THREADS: "1",
  OMP_NUM_THREADS: "1",
  OPENBLAS_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1",
};

/** Runs a program that prints JSON at the end, with one thread. */
export async function runPeer<Report>(
  [program, ...args]: readonly string[],
  cwd?: string,
): Promise<Report> {
  const { stdout } = await run(program!, args, { env: ENVIRONMENT, cwd, maxBuffer: 2 ** 28 });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

export const notInstalled = (name: string): string =>
  `${name}: not installed (benchmarks/peers/install)`;

/** One line that says why a peer is skipped. */
export function skipped(name: string, error: unknown): string {
  const { stderr = "", message } = error as { stderr?: string; message: string };
  return `${name}: ${stderr.trim().split("\n").at(-1) || message.split("\n")[0]}`;
}

/**
 * Builds an index of each engine with 2 and with 4 bits in `folder`, of the keys of the index
 * `exact`, and searches it. `best` are ids of the best passages of each question by float32 keys.
 */
export async function compareEngines(
  exact: string,
  folder: string,
  questions: readonly Float32Array[],
  best: readonly (readonly string[])[],
): Promise<EngineRows> {
  const files = await writeVectors(exact, folder, questions);
  const rows: EngineRow[] = [];
  const left: string[] = [];
  for (const engine of ENGINES) {
    if (!existsSync(engine.needs)) {
      left.push(notInstalled(engine.name));
      continue;
    }
    for (const bits of [2, 4] as const)
      try {
        rows.push(...(await measureEngine(engine, { ...files.task, bits }, files.ids, best)));
      } catch (error) {
        left.push(skipped(`${engine.name}, ${bits} bits`, error));
      }
  }
  const { keyCounts, dimension } = files.task;
  const tokens = keyCounts.reduce((sum, count) => sum + count, 0);
  return { passages: keyCounts.length, tokens, dimension, rows, skipped: left };
}

async function measureEngine(
  { name, command, searches }: Engine,
  task: SearchTask,
  ids: readonly string[],
  best: readonly (readonly string[])[],
): Promise<EngineRow[]> {
  process.stderr.write(`${name}, ${task.bits} bits ...\n`);
  const path = `${task.index}.json`;
  await rm(task.index, { recursive: true, force: true });
  await writeFile(path, JSON.stringify(task));
  const built = await runPeer<PeerReport>([...command, "build", path]);
  const bytes = await folderBytes(task.index);
  const rows: EngineRow[] = [];
  for (const [options, given] of Object.entries(searches)) {
    await writeFile(path, JSON.stringify({ ...task, options: given }));
    const searched = await runPeer<PeerReport>([...command, "search", path]);
    const found = searched.found.map((ordinals) => ordinals.map((ordinal) => ids[ordinal]!));
    rows.push({
      engine: `${name} ${searched.version}`.trim(),
      bits: task.bits,
      options,
      build: built.seconds,
      buildMegabytes: built.megabytes,
      bytesPerToken: bytes / task.keyCounts.reduce((sum, count) => sum + count, 0),
      milliseconds: (1_000 * searched.seconds) / task.questionCounts.length,
      searchMegabytes: searched.megabytes,
      recallAt10: recallAt(10, found, best),
      recallAt100: recallAt(100, found, best),
    });
  }
  await rm(task.index, { recursive: true });
  return rows;
}

/** Writes the keys of the index, and the vectors of the questions. */
async function writeVectors(
  exact: string,
  folder: string,
  questions: readonly Float32Array[],
): Promise<{ readonly task: Omit<SearchTask, "bits">; readonly ids: string[] }> {
  const { header, segments } = await readManifest(exact);
  const { dimension } = header;
  await using opened = await openSegments([{ directory: exact, segments }], {
    decoder: float32Decoder(dimension),
  });
  const store = openStore(opened.segments, dimension);
  const ids: string[] = [];
  const keyCounts: number[] = [];
  const keys = join(folder, "keys.f32");
  await using file = await openFile(keys, "w");
  for (let ordinal = 0; ordinal < store.passageCount; ordinal++) {
    ids.push((await store.passage(ordinal)).id);
    const of = await store.keys(ordinal);
    keyCounts.push(of.length / dimension);
    await file.writeFile(viewBytes(of));
  }
  const asked = join(folder, "questions.f32");
  await writeFile(asked, Buffer.concat(questions.map(viewBytes)));
  const questionCounts = questions.map(({ length }) => length / dimension);
  const index = join(folder, "peer");
  const vectors = { exact, index, keys, keyCounts, questions: asked, questionCounts };
  return { task: { ...vectors, dimension, topK: 100, options: {} }, ids };
}

async function folderBytes(folder: string): Promise<number> {
  let sum = 0;
  for (const path of filesBelow(folder)) sum += (await stat(path)).size;
  return sum;
}

/** The table, and a line for each engine that is skipped. */
export function engineLines(engines: EngineRows): [name: string, value: string][] {
  const { passages, tokens, dimension, rows, skipped } = engines;
  const what = `${passages} passages, ${tokens} keys of ${dimension} values, one thread`;
  return [
    ["engines", `${what}, top 100; processor times, peak memory`],
    ...rows.map((row): [string, string] => [
      "",
      `${row.engine}, ${row.bits} bits, ${row.options}: ${row.milliseconds.toFixed(1)} ms a question, ` +
        `recall@10 ${row.recallAt10.toFixed(3)}, @100 ${row.recallAt100.toFixed(3)}, ` +
        `${row.searchMegabytes} MB; build ${row.build.toFixed(1)} s, ${row.buildMegabytes} MB, ` +
        `${row.bytesPerToken.toFixed(0)} bytes a token`,
    ]),
    ...skipped.map((line): [string, string] => ["", `skipped: ${line}`]),
  ];
}
