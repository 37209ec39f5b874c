/**
 * Every flag of every command changes what the library receives. The test is made from the tables
 * of the commands: it runs each with a flag and without it, with recorders in place of `ReAtt.load`
 * and of what the command calls (`CliCommand.library`). An option that the command uses itself
 * says so in its table (`own`).
 */

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import { COMMANDS } from "../../src/cli/commands.ts";
import type { CliCommand, CommandEntry } from "../../src/cli/line/command.ts";
import { readText, takesValue } from "../../src/cli/line/option-text.ts";
import { flagOf } from "../../src/cli/shared/flag-name.ts";
import {
  defaultOf,
  infoOf,
  isRequired,
  type OptionTable,
  valueSchema,
} from "../../src/options/option.ts";
import { ReAtt } from "../../src/reatt.ts";
import { temporaryFolder, writeLines } from "../support/training.ts";
import { runCaptured } from "./support.ts";

const MODEL = resolve("models/reatt-mini");
/** In German: `--language en` is then another language than that of the passages. */
const PASSAGES = [
  {
    id: "lion",
    title: "Löwe",
    text: "Der Löwe ist ein Tier, das in der Steppe und nicht im Wald lebt.",
  },
];

const folder = temporaryFolder();
const at = (name: string): string => join(folder.path, name);
const before = process.cwd();
const model = await ReAtt.load(MODEL);
const index = await model.index(PASSAGES, { directory: at("index") });
test.after(async () => {
  process.chdir(before);
  await index.close();
  await model.close();
  await folder[Symbol.asyncDispose]();
});
writeFixtures();
process.chdir(folder.path);

function writeFixtures(): void {
  symlinkSync(at("index"), at("other-index"));
  mkdirSync(at("docs"));
  writeFileSync(at("docs/lion.txt"), "The lion lives in Africa.");
  writeLines(at("passages.jsonl"), PASSAGES);
  const question = { id: "q", question: "Where is it?", answers: ["Africa"], passage_id: "lion" };
  writeLines(at("questions.jsonl"), [question]);
  writeLines(at("other.jsonl"), [question]);
  mkdirSync(at("beir/qrels"), { recursive: true });
  writeLines(at("beir/corpus.jsonl"), [{ _id: "lion", ...PASSAGES[0] }]);
  writeLines(at("beir/queries.jsonl"), [{ _id: "q", text: "Where is it?" }]);
  writeFileSync(at("beir/qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq\tlion\t1\n");
}

/** A call of the library: a function or a method, and its arguments. */
interface Call {
  readonly name: string;
  readonly given: readonly unknown[];
}

/** What a recorder returns: it can be called, awaited, iterated and closed, and has all fields. */
const nothing: unknown = new Proxy(() => nothing, {
  get: (_, name) => {
    if (name === "then" || name === "toJSON") return undefined;
    if (name === Symbol.toPrimitive) return () => 0;
    if (name === Symbol.iterator) return () => [].values();
    if (name === Symbol.asyncIterator) return () => Readable.from([])[Symbol.asyncIterator]();
    return nothing;
  },
  apply: () => nothing,
});

/** What a function returns where a command needs more of it than nothing. */
const RETURNED: Readonly<Record<string, unknown>> = {
  forecast: {
    ...{ passages: 1, tokens: 1, cut: { passages: 0, tokens: 0 }, bits: 32 },
    ...{ bytes: 1, peakBytes: 1, memoryBytes: 1, seconds: 1 },
  },
  spoolPassages: { file: at("passages.jsonl"), [Symbol.asyncDispose]: async () => {} },
  openIndex: new Proxy(index, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose || name === "close") return async () => {};
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  }),
};

/** @param onCall is called before a function returns */
const recorder =
  (calls: Call[], name: string, onCall = () => {}) =>
  (...given: unknown[]): unknown => {
    calls.push({ name, given });
    onCall();
    return name in RETURNED ? Promise.resolve(RETURNED[name]) : nothing;
  };

/** A model of which only the configuration and the folder are real. */
const recordedModel = (calls: Call[]): unknown =>
  new Proxy(model, {
    get: (target, name) => {
      if (name === "config" || name === "folder") return target[name];
      return typeof name === "string" && typeof target[name as keyof ReAtt] === "function"
        ? recorder(calls, name)
        : (nothing as Record<PropertyKey, unknown>)[name];
    },
  });

/** The calls of a command line. What the command does with the results may fail. */
async function callsOf(
  entry: CommandEntry,
  definition: CliCommand,
  args: readonly string[],
): Promise<{ readonly calls: readonly Call[]; readonly shown: string }> {
  const calls: Call[] = [];
  const abort = new AbortController();
  const stop = definition.endsBySignal ? () => abort.abort() : undefined;
  const library = Object.fromEntries(
    Object.keys(definition.library ?? {}).map((name) => [name, recorder(calls, name, stop)]),
  );
  const { load } = ReAtt;
  const { stdin } = process;
  const replace = (loader: unknown, input: unknown) => {
    ReAtt.load = loader as typeof load;
    Object.defineProperty(process, "stdin", { value: input, configurable: true });
  };
  replace(
    async (...given: unknown[]) => {
      calls.push({ name: "load", given });
      return recordedModel(calls);
    },
    Readable.from(["Who?\n"]),
  );
  const parents = COMMANDS.filter(({ name }) => entry.name.startsWith(`${name} `));
  const commands = [...parents, { ...entry, load: async () => ({ ...definition, library }) }];
  try {
    const line = [...entry.name.split(" "), ...args];
    const { stderr } = await runCaptured(line, { commands, signal: abort.signal });
    return { calls, shown: stderr };
  } finally {
    replace(load, stdin);
  }
}

/** What stands in arguments by its name, or anywhere. */
function* valuesIn(given: unknown, name?: string, seen = new Set<unknown>()): Generator<unknown> {
  if (given === RETURNED.openIndex || given === nothing || seen.has(given)) return;
  if (name === undefined) yield given;
  if (typeof given !== "object" || given === null || ArrayBuffer.isView(given)) return;
  seen.add(given);
  for (const [key, value] of Object.entries(given)) {
    if (key === name) yield value;
    yield* valuesIn(value, name, seen);
  }
}

/** The values like `value` that the library receives: of the option so called, or of any. */
function received(calls: readonly Call[], name: string | undefined, value: unknown): unknown[] {
  const all = calls.flatMap(({ given }) => [...valuesIn(given, name)]);
  return all.filter((found) => typeof found === typeof value);
}

/** What a command needs beside its required options. */
const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  answer: ["Who?"],
  retrieve: ["Who?"],
  sync: [at("docs"), "--index", at("index")],
  mcp: ["--port", "0"],
  benchmark: [at("beir")],
  "index delete": ["lion"],
  "index merge": [at("index")],
};

/** Options without which another one has no effect. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  k1: ["--lambda", "1"],
  b: ["--lambda", "1"],
  faissFactory: ["--engine", "faiss"],
  faissNprobe: ["--engine", "faiss", "--faiss-factory", "Flat"],
  part: ["--store", "postgres://user@localhost:1/database/collection"],
};

/** Values by their placeholder: where one is needed, and another where it is tested. */
const SAMPLES: Readonly<Record<string, readonly [needed: string, tested: string]>> = {
  "DIR|NAME": [at("index"), at("other-index")],
  "DIR|NAME,...": [at("index"), at("other-index")],
  "FILE.jsonl": [at("questions.jsonl"), at("other.jsonl")],
  "FOLDER|FILE|-": [at("docs"), at("questions.jsonl")],
  CONDITION: ["year = 1", "year >= 2020"],
  "I/N|auto|auto/N": ["1/2", "2/8"],
  "1|2|4|8": ["4", "1"],
  "1|2|4|8|32": ["4", "8"],
  "K,K,...": ["1", "3,10"],
  "X[,X...]": ["0.5", "0.75"],
  "NAME,NAME": ["titles", "crops,titles"],
  "NAME=NUMBER,...": ["crops=1", "titles=0.5"],
  "SITE,...": ["https://example.org", "https://example.com"],
  URL: ["https://example.org", "https://example.com"],
  SIZE: ["1GB", "2GB"],
};

function samplesOf(schema: OptionTable[string]): readonly [needed: string, tested: string] {
  const { placeholder = "" } = infoOf(schema);
  if (SAMPLES[placeholder]) return SAMPLES[placeholder];
  const value = valueSchema(schema);
  if (value instanceof z.ZodEnum) {
    const others = value.options.map(String).filter((word) => word !== defaultOf(schema));
    return [others[1] ?? others[0]!, others[0]!];
  }
  if (!(value instanceof z.ZodNumber)) return ["some-text", "other-text"];
  return value.isInt ? ["16", "17"] : ["0.5", "0.75"];
}

/** The flag with a value that is not the default, and that value. */
function changed(name: string, schema: OptionTable[string]): readonly [string[], unknown] {
  const flag = flagOf(name);
  if (!takesValue(schema))
    return defaultOf(schema) === false ? [[`--${flag}`], true] : [[`--no-${flag}`], false];
  const text = samplesOf(schema)[1];
  const value = readText(schema, flag, text);
  return [[`--${flag}`, text], infoOf(schema).repeated ? (value as unknown[])[0] : value];
}

for (const entry of COMMANDS) {
  if (!entry.load) continue;
  const definition = await entry.load();
  const flags = Object.entries(definition.options).filter(
    ([, schema]) => infoOf(schema).flag !== false,
  );
  for (const [name, schema] of flags.filter(([, schema]) => infoOf(schema).own !== true))
    test(`${entry.name} --${flagOf(name)} reaches the library`, async () => {
      const more = [...(ALWAYS[entry.name] ?? []), ...(BESIDE[name] ?? [])];
      const needed = flags.flatMap(([other, required]) =>
        isRequired(required) && !(other === "out" && more.includes("--store"))
          ? [`--${flagOf(other)}`, samplesOf(required)[0]]
          : [],
      );
      const base = [...more, ...needed];
      const place = base.indexOf(`--${flagOf(name)}`);
      const others = place === -1 ? base : base.toSpliced(place, 2);
      const [given, value] = changed(name, schema);
      const { calls, shown } = await callsOf(entry, definition, [...others, ...given]);
      const named = received(calls, name, value).length > 0 ? name : undefined;
      const has = (of: readonly Call[]): boolean =>
        received(of, named, value).some((found) => isDeepStrictEqual(found, value));
      assert.ok(
        has(calls),
        `${entry.name} --${flagOf(name)}: the library receives nothing of it. Pass it on in ` +
          "src/cli/commands, or mark the option as own in the table of the command. Calls: " +
          `${calls.map((call) => call.name).join(", ")}. Messages: ${shown}`,
      );
      const without = await callsOf(entry, definition, base);
      assert.not(has(without.calls), `${name} has this value without the flag`);
    });
}

test.run();
