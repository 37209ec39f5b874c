/**
 * The bodies of requests: the option tables of the library with the limits of a server. The
 * description in `/openapi.json` is made from the same tables.
 */

import { z } from "zod";
import { READ_OPTIONS } from "../../decoder/answers.ts";
import {
  defaultOf,
  flag,
  infoOf,
  integer,
  type OptionTable,
  type Resolved,
  valueSchema,
} from "../../options/option.ts";
import { ANSWER } from "../../reatt/options.ts";
import { RETRIEVE_OPTIONS } from "../../retrieval/rank.ts";
import { parseWhere } from "../../retrieval/where/parse-where.ts";
import { whereSchema } from "../../retrieval/where/where.ts";
import { countWords } from "../../text/units.ts";
import { TEXT_CONDITION, WHERE_REFERENCE } from "./where-description.ts";

/** A question has at most 512 tokens; tokenizing a longer text would hold up other requests. */
const MAX_QUESTION_CHARACTERS = 10_000;
/** A paragraph. Each word is compared with each passage that is returned. */
const MAX_QUESTION_WORDS = 200;
/** Characters of a passage. */
const MAX_TEXT_CHARACTERS = 100_000;
/** Characters of the passages that one request reads: about 250 windows of 512 tokens. */
const MAX_CHARACTERS_READ = 500_000;
/** Passages that one request reads or explains. Reading 100 takes seconds on two cores. */
const MAX_PASSAGES_READ = 100;
/** More than a person looks at: 20 pages. */
const MAX_PASSAGES_RETRIEVED = 200;
/** Passages of one `PUT`. */
const MAX_PASSAGES_WRITTEN = 1_000;
const MAX_WHERE_CHARACTERS = 10_000;
/** Bytes of the passages that a client gets, by default and at most. */
const BYTES_GOT = 50_000;
const MAX_BYTES_GOT = 4_000_000;
const MAX_ANSWER_TOKENS = 200;

/** Text of at most `maximum` characters, which JSON Schema counts by code points. */
function upTo(maximum: number, schema: z.ZodString): z.ZodString {
  const isShort = (given: string): boolean =>
    given.length <= maximum || (given.length <= 2 * maximum && [...given].length <= maximum);
  return schema
    .refine(isShort, `at most ${maximum.toLocaleString("en")} characters`)
    .meta({ maxLength: maximum });
}

const question = upTo(MAX_QUESTION_CHARACTERS, z.string("a question as text"))
  .regex(/\S/, "a question")
  .refine(
    (given) => countWords(given.slice(0, 2 * MAX_QUESTION_CHARACTERS)) <= MAX_QUESTION_WORDS,
    `at most ${MAX_QUESTION_WORDS} words`,
  )
  .describe(`The question, of at most ${MAX_QUESTION_WORDS} words and 512 tokens.`);

const id = upTo(200, z.string("text")).default("1").describe("Returned as the id of the result.");

/** A condition as an object, or as text as on the command line. */
const where = z
  .union(
    [
      upTo(MAX_WHERE_CHARACTERS, z.string()).meta({ pattern: TEXT_CONDITION }),
      z.record(z.string(), z.unknown()).meta({ $ref: WHERE_REFERENCE }),
    ],
    "a condition as an object or as text",
  )
  .transform((given) => (typeof given === "string" ? parseWhere(given) : given))
  .refine(
    (given) => JSON.stringify(given).length <= MAX_WHERE_CHARACTERS,
    `at most ${MAX_WHERE_CHARACTERS} characters`,
  )
  .pipe(whereSchema)
  .describe(
    "Only passages with such metadata: \"year >= 2020 and not lang = 'de'\", with =, !=, <, <=, >, " +
      '>=, in ("a", "b"), contains, exists, and, or, not; or as an object: {"year": {"gte": 2020}}.',
  );

/**
 * What a client may give of the options of `retrieve`, `answer` and `read`: `free` as the library
 * takes it, `hidden` not at all, or within a limit of the server. Then the tools for assistants
 * that take the option too: those where an assistant can judge it.
 */
export const RULES = {
  topK: [integer(1, MAX_PASSAGES_RETRIEVED), "search"],
  readTopK: [integer(1, MAX_PASSAGES_READ)],
  maxAnswerTokens: [integer(1, MAX_ANSWER_TOKENS)],
  where: [where, "search", "answer"],
  hybrid: [flag()],
  granularity: ["free", "search"],
  minScore: ["free", "search"],
  explain: ["free"],
  distinct: ["free"],
  reader: ["free"],
  extractive: ["free"],
  minimumConfidence: ["free", "answer"],
  filter: ["hidden"], // a set or a function
  maxInputTokens: ["hidden"],
  maxPassageTokens: ["hidden"],
  unansweredFile: ["hidden"], // the owner of the server gives it
  onText: ["hidden"], // a stream of events has the text
  signal: ["hidden"],
} as const satisfies Readonly<Record<keyof typeof ANSWER | keyof typeof READ_OPTIONS, Rule>>;

type Rule = readonly [z.ZodType | "free" | "hidden", ...("search" | "answer")[]];

/** The options whose rule has a word. */
type Ruled<Word> = {
  [Name in keyof typeof RULES]: Word extends (typeof RULES)[Name][number] ? Name : never;
}[keyof typeof RULES];

const ruleOf = (name: string): Rule =>
  (RULES as Readonly<Record<string, Rule | undefined>>)[name] ?? ["hidden"];

/** The options of the library that clients may give, described by their help. */
function served<Table extends OptionTable>(table: Table): Omit<Table, Ruled<"hidden">> {
  const entries = Object.entries(table).flatMap(([name, schema]) => {
    const [rule] = ruleOf(name);
    if (rule === "hidden") return [];
    const value = rule === "free" ? valueSchema(schema) : rule;
    const initial = defaultOf(schema);
    const whole = initial === undefined ? value.optional() : value.default(initial);
    return [[name, whole.describe(value.description ?? sentence(schema))]];
  });
  return Object.fromEntries(entries) as Omit<Table, Ruled<"hidden">>;
}

/** The question and the options of a request that a tool takes. */
export const inputOf = <Table extends OptionTable, Tool extends "search" | "answer">(
  table: Table,
  tool: Tool,
): Pick<Table, keyof Table & ("question" | Ruled<Tool>)> =>
  Object.fromEntries(
    Object.entries(table).filter(([name]) => name === "question" || ruleOf(name).includes(tool)),
  ) as Pick<Table, keyof Table & ("question" | Ruled<Tool>)>;

/** `passages to read` -> `Passages to read. Default: 10.`; `fusion: …` begins with a value. */
function sentence(schema: z.ZodType): string {
  const { help, defaultText } = infoOf(schema);
  const end = defaultText === undefined ? "" : ` Default: ${defaultText}.`;
  return `${help.replace(/^[a-z](?!\w*:)/, (first) => first.toUpperCase())}.${end}`;
}

const metadataItem = z.union([z.string(), z.number(), z.boolean()]);

export const METADATA = z.record(
  z.string(),
  z.union(
    [metadataItem, z.array(metadataItem)],
    "text, a number, true or false, or a list of these",
  ),
);

const passageText = upTo(MAX_TEXT_CHARACTERS, z.string("text"));

/** Unknown fields are ignored, so that the results of a retrieval can be read as they are. */
const passage = z.object(
  {
    id: upTo(1_000, z.string("text")).min(1, "text that is not empty"),
    title: passageText.default(""),
    text: passageText,
    document: z.string("text").min(1, "text that is not empty").optional(),
    metadata: METADATA.optional(),
  },
  "an object with id, title and text",
);

const passages = (maximum: number) =>
  z
    .array(passage, "a list of passages")
    .min(1, "at least one passage")
    .max(maximum, `at most ${maximum} passages`);

/** `POST /v1/retrieve` */
export const RETRIEVE_REQUEST = { question, id, ...served(RETRIEVE_OPTIONS) };

/** `POST /v1/answer` */
export const ANSWER_REQUEST = { question, id, ...served(ANSWER) };

/** `POST /v1/read` */
export const READ_REQUEST = {
  question,
  id,
  passages: passages(MAX_PASSAGES_READ).refine(
    (given) =>
      given.reduce((sum, { title, text }) => sum + title.length + text.length, 0) <=
      MAX_CHARACTERS_READ,
    `at most ${MAX_CHARACTERS_READ.toLocaleString("en")} characters together`,
  ),
  ...served(READ_OPTIONS),
};

const collection = upTo(200, z.string("text"))
  .min(1, "a name")
  .optional()
  .describe("The collection that is meant, of several.");

/** A passage to explain. */
interface Explained {
  readonly id: string;
  readonly collection?: string | undefined;
}

/** `POST /v1/explain` */
export const EXPLAIN_REQUEST = {
  question,
  id,
  passages: z
    .array(
      z.union(
        [
          z.string().transform((id): Explained => ({ id })),
          z.object({ id: z.string(), collection }),
        ],
        "ids of passages",
      ),
      "a list of ids",
    )
    .min(1, "at least one id")
    .max(MAX_PASSAGES_READ, `at most ${MAX_PASSAGES_READ} ids`)
    .describe("Ids of passages, or passages with their ids."),
};

const maxBytes = integer(1, MAX_BYTES_GOT)
  .default(BYTES_GOT)
  .describe("Passages are left out from the first one that would exceed these bytes of text.");

/** `POST /v1/get` */
export const GET_REQUEST = {
  path: upTo(2_000, z.string("text"))
    .min(1, "a name")
    .describe("The path or the id of a document, or the id of a passage."),
  collection,
  lines: z
    .string("lines")
    .regex(/^[0-9]{1,9}(?:-[0-9]{1,9})?$/, "lines, such as 10-14")
    .optional()
    .describe("Only passages that have one of these lines of the file: 10-14."),
  maxBytes,
};

const pattern = upTo(200, z.string("text")).min(1, "a pattern");

/** `POST /v1/multi-get` */
export const MULTI_GET_REQUEST = {
  patterns: z
    .array(pattern, "a list of patterns")
    .min(1, "at least one pattern")
    .max(20, "at most 20 patterns")
    .describe('Patterns of paths, as in a .gitignore: ["guide/*.md", "!guide/old.md"].'),
  collection,
  maxBytes,
};

/** `PUT /v1/passages` */
export const PUT_REQUEST = {
  passages: passages(MAX_PASSAGES_WRITTEN),
  collection,
};

export type RetrieveRequest = Resolved<typeof RETRIEVE_REQUEST>;
export type AnswerRequest = Resolved<typeof ANSWER_REQUEST>;
export type ReadRequest = Resolved<typeof READ_REQUEST>;
export type ExplainRequest = Resolved<typeof EXPLAIN_REQUEST>;
export type GetRequest = Resolved<typeof GET_REQUEST>;
export type MultiGetRequest = Resolved<typeof MULTI_GET_REQUEST>;
export type PutRequest = Resolved<typeof PUT_REQUEST>;
