/** What kept states of passages save: answers from an index with them and from one without. */

import { loadavg } from "node:os";
import { join } from "node:path";
import { indexInfo, type Passage, ReAtt, type TokenIndex } from "../../src/index.ts";
import { median } from "../bench/timing.ts";
import { ownTask, peakMegabytes } from "../bench-index/subprocess.ts";
import { firstPassages, MAX_ANSWER_TOKENS, QUESTION } from "./measure.ts";

export interface StatesTask {
  readonly model: string;
  /** The folder of both indexes. */
  readonly folder: string;
  readonly topK: number;
  /** Answers of each kind. Each reads other passages, so that no cache has their states. */
  readonly answers: number;
}

/** Medians of the seconds of an answer: wall time, processor time, and wall time of reading. */
interface Seconds {
  readonly wall: number;
  readonly cpu: number;
  readonly reading: number;
}

export interface StatesReport {
  readonly bytesPerToken: { readonly index: number; readonly states: number };
  /** Seconds of processor time to build the indexes. */
  readonly build: { readonly without: number; readonly with: number };
  readonly without: Seconds;
  readonly with: Seconds;
  /** Medians of without / with, of the pairs of answers that follow each other. */
  readonly ratio: Seconds;
  /** Pairs of equal answers. */
  readonly equal: number;
  readonly megabytes: number;
  readonly load: readonly number[];
}

const KINDS = ["without", "with"] as const;

type Kind = (typeof KINDS)[number];

interface Measured extends Seconds {
  readonly tokenIds: string;
}

async function runTask({
  model: source,
  folder,
  topK,
  answers,
}: StatesTask): Promise<StatesReport> {
  const before = loadavg()[0]!;
  await using model = await ReAtt.load(source);
  const passages: Passage[] = [];
  for await (const passage of firstPassages(topK * (answers + 1))) passages.push(passage);
  const build = { without: 0, with: 0 };
  const opened = {} as Record<Kind, TokenIndex>;
  for (const kind of KINDS) {
    const start = process.cpuUsage();
    const keepStates = kind === "with";
    opened[kind] = await model.index(passages, { directory: join(folder, kind), keepStates });
    build[kind] = cpuSeconds(start);
  }
  const pairs: Record<Kind, Measured>[] = [];
  for (let i = 0; i <= answers; i++) {
    const read = passages.slice(topK * i, topK * (i + 1)).map(({ id }) => id);
    const pair = {} as Record<Kind, Measured>;
    for (const kind of i % 2 === 0 ? KINDS : KINDS.toReversed())
      pair[kind] = await answer(model, opened[kind], new Set(read), topK);
    if (i > 0) pairs.push(pair); // the first answer loads the reader
  }
  for (const kind of KINDS) await opened[kind].close();
  const { states, tokens, bytes } = await indexInfo(join(folder, "with"));
  return {
    bytesPerToken: { index: Math.round(bytes / tokens), states: states!.bytesPerToken },
    build,
    without: medians(pairs.map((pair) => pair.without)),
    with: medians(pairs.map((pair) => pair.with)),
    ratio: medians(pairs.map(ratioOf)),
    equal: pairs.filter((pair) => pair.without.tokenIds === pair.with.tokenIds).length,
    megabytes: peakMegabytes(),
    load: [before, loadavg()[0]!],
  };
}

async function answer(
  model: ReAtt,
  index: TokenIndex,
  filter: ReadonlySet<string>,
  topK: number,
): Promise<Measured> {
  const start = performance.now();
  const cpu = process.cpuUsage();
  const options = { filter, readTopK: topK, maxAnswerTokens: MAX_ANSWER_TOKENS, hybrid: false };
  const { tokenIds, times } = await model.answer(QUESTION, index, options);
  const wall = (performance.now() - start) / 1000;
  return {
    ...{ wall, cpu: cpuSeconds(cpu), reading: times.read / 1000 },
    tokenIds: tokenIds.join(" "),
  };
}

function cpuSeconds(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

const ratioOf = (pair: Record<Kind, Measured>): Seconds => ({
  wall: pair.without.wall / pair.with.wall,
  cpu: pair.without.cpu / pair.with.cpu,
  reading: pair.without.reading / pair.with.reading,
});

const medians = (values: readonly Seconds[]): Seconds => ({
  wall: median(values.map(({ wall }) => wall)),
  cpu: median(values.map(({ cpu }) => cpu)),
  reading: median(values.map(({ reading }) => reading)),
});

const task = ownTask<StatesTask>(import.meta.url);
if (task) console.log(JSON.stringify(await runTask(task)));
