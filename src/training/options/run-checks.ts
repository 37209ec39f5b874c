/** Which options of a run contradict each other, or have no effect. */

import { InputError } from "../../io/errors.ts";
import { defaultOf, type OptionTable } from "../../options/option.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import type { RunRequest } from "./run-options.ts";
import { defaultPart } from "./trained.ts";

const READING: readonly ObjectiveName[] = ["distillation", "supervised", "marginal", "qa"];
const CONTRAST: readonly ObjectiveName[] = [
  "distillation",
  "supervised",
  "likelihood",
  "retrieval",
];

/** The objectives that an option has an effect with. */
const OBJECTIVES: Readonly<Partial<Record<keyof RunRequest, readonly ObjectiveName[]>>> = {
  alpha: ["distillation", "supervised", "likelihood"],
  copyAttention: ["distillation", "supervised", "qa"],
  phraseLoss: CONTRAST,
  inBatchNegatives: CONTRAST,
  relevantNegatives: CONTRAST,
  preBatch: CONTRAST,
  nullPassage: ["marginal"],
  scoreTemperature: ["retrieval"],
  qaSteps: READING,
};

/** An option that needs another one. */
interface Condition {
  readonly name: keyof RunRequest;
  readonly expected: string;
  readonly isMet: (options: RunRequest) => boolean;
}

const partOf = ({ train, objective }: RunRequest): string => train ?? defaultPart(objective);

const CONDITIONS: readonly Condition[] = [
  {
    name: "refreshSteps",
    expected: "refresh background",
    isMet: ({ refresh }) => refresh === "background",
  },
  {
    name: "preBatch",
    expected: "in-batch negatives, and no refresh in the background, which replaces the examples",
    isMet: ({ inBatchNegatives, refresh }) => inBatchNegatives && refresh !== "background",
  },
  {
    name: "devQuestions",
    expected: "dev, whose first questions are used",
    isMet: ({ dev }) => dev !== undefined,
  },
  {
    name: "layers",
    expected: "train retrieval, joint or query",
    isMet: (options) => ["retrieval", "joint", "query"].includes(partOf(options)),
  },
  {
    name: "phraseLoss",
    expected: "keys of one head, and training of what makes them",
    isMet: (options) =>
      options.tau === undefined && options.pooling === undefined && partOf(options) !== "query",
  },
  {
    name: "tau",
    expected: "training of all heads: train all or retrieval, and no pooling",
    isMet: (options) =>
      options.pooling === undefined && ["all", "retrieval"].includes(partOf(options)),
  },
];

/**
 * @param table the options with their defaults
 * @throws {InputError} for an option that differs from its default and has no effect, or
 *   contradicts another one
 */
export function checkEffects(options: RunRequest, table: OptionTable): void {
  const { objective, candidatesPerQuestion, nullPassage, minutes, iterations } = options;
  const isGiven = (name: keyof RunRequest): boolean =>
    name in table && options[name] !== undefined && options[name] !== defaultOf(table[name]!);
  const fail = (name: keyof RunRequest, expected: string, got: string): never => {
    throw new InputError({
      where: name,
      expected,
      got,
      remedy: "leave the option out, or give what it needs",
    });
  };
  for (const [name, objectives] of Object.entries(OBJECTIVES) as [
    keyof RunRequest,
    readonly ObjectiveName[],
  ][])
    if (isGiven(name) && !objectives.includes(objective))
      fail(name, `the objective ${listed(objectives)}`, `the objective ${objective}`);
  if (options.measures && options.dev === undefined)
    fail("measures", "dev, whose questions are answered", "none");
  for (const { name, expected, isMet } of CONDITIONS)
    if (isGiven(name) && !isMet(options))
      fail(name, expected, `${name} ${options[name]} without it`);
  if (minutes !== undefined && iterations > 1)
    throw new InputError({
      where: "minutes",
      expected: "one iteration",
      got: `${iterations}`,
      remedy: "leave iterations or minutes out",
    });
  if (objective === "marginal" && nullPassage && candidatesPerQuestion < 2)
    throw new InputError({
      where: "candidatesPerQuestion",
      expected: "2 or more, one of them the null passage",
      got: `${candidatesPerQuestion}`,
      remedy: "give another value",
    });
}

const listed = (names: readonly string[]): string =>
  names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
