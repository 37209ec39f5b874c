/**
 * Conditions as text, for the command line.
 *
 *     expression = all { "or" all }
 *     all        = one { "and" one }
 *     one        = "not" one | "(" expression ")" | comparison
 *     comparison = name ("=" | "!=" | ">" | ">=" | "<" | "<=" | "contains") value
 *                | name "in" "(" value { "," value } ")"
 *                | name "exists"
 *     value      = text in quotes | number | date | "true" | "false"
 *
 * A date is one of ISO 8601: 2024-05-01, 2024-05. A name is a word, or text in quotes. Quotes are
 * single or double; \ before a character stands for the character itself. Key words are the same in
 * upper case.
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import {
  type Comparison,
  MAX_WHERE_DEPTH,
  type Where,
  type WhereValue,
  whereSchema,
} from "./where.ts";

const OPERATORS = {
  "=": "eq",
  "!=": "ne",
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
  contains: "contains",
} as const satisfies Readonly<Record<string, keyof Comparison>>;

const MAX_LENGTH = 100_000; // characters

interface Token {
  readonly kind: "word" | "text" | "number" | "symbol" | "end";
  /** A word as written, the contents of quotes, or a symbol. */
  readonly text: string;
  readonly start: number;
}

const TOKEN =
  /(?<date>\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?)?)?(?![\p{L}\p{N}_-]))|(?<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_]))|(?<word>[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:-]*)|"(?<double>(?:[^"\\]|\\.)*)"|'(?<single>(?:[^'\\]|\\.)*)'|(?<symbol>!=|[<>]=?|=|[(),])/suy;

/**
 * Reads a condition such as `year >= 2020 and (lang = "en" or tags contains "x")`.
 *
 * @throws {InputError} with the position of what is wrong
 *
 * @example
 * ```ts
 * import { parseWhere } from "reatt";
 *
 * console.log(parseWhere('year >= 2020 and not lang = "en"'));
 * // { and: [ { year: { gte: 2020 } }, { not: { lang: { eq: 'en' } } } ] }
 * ```
 */
export function parseWhere(text: string): Where {
  if (typeof text !== "string")
    throw new InputError({
      where: "condition",
      expected: "a condition as text",
      got: text === undefined ? "nothing" : excerpt(text),
      remedy: EXAMPLE,
    });
  if (text.length <= MAX_LENGTH) return new Parser(text, tokensOf(text)).parse();
  throw new InputError({
    where: "condition",
    expected: `at most ${MAX_LENGTH} characters`,
    got: `${text.length}`,
    remedy: "name fewer values, or give a set of ids",
  });
}

/** The schema of a condition that is given as an object or as text. */
export const givenWhere: z.ZodType<Where, Where | string> = z
  .custom<Where | string>()
  .transform((given) => (typeof given === "string" ? parseWhere(given) : given))
  .pipe(whereSchema);

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const space = /\s*/uy;
    space.lastIndex = at;
    at += space.exec(text)![0].length;
    if (at === text.length) break;
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw unexpected(text, at, "a name, a value or a comparison", text.slice(at));
    tokens.push(tokenOf(match));
    at += match[0].length;
  }
  return [...tokens, { kind: "end", text: "", start: text.length }];
}

function tokenOf({ groups = {}, index: start }: RegExpExecArray): Token {
  const { date, number, word, double, single, symbol } = groups;
  if (date !== undefined) return { kind: "text", text: date, start }; // as metadata has it
  if (number !== undefined) return { kind: "number", text: number, start };
  if (word !== undefined) return { kind: "word", text: word, start };
  if (symbol !== undefined) return { kind: "symbol", text: symbol, start };
  return { kind: "text", text: (double ?? single)!.replace(/\\(.)/gsu, "$1"), start };
}

/** Recursive descent: a method for each rule of the grammar. */
class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  parse(): Where {
    const where = this.#any(MAX_WHERE_DEPTH);
    if (this.#peek().kind !== "end") throw this.#unexpected('"and", "or" or the end');
    return where;
  }

  #any(depth: number): Where {
    const all = [this.#all(depth - 1)];
    while (this.#accept("or")) all.push(this.#all(depth - 1));
    return all.length === 1 ? all[0]! : { or: all };
  }

  #all(depth: number): Where {
    const all = [this.#one(depth - 1)];
    while (this.#accept("and")) all.push(this.#one(depth - 1));
    return all.length === 1 ? all[0]! : { and: all };
  }

  #one(depth: number): Where {
    if (depth <= 0) throw this.#unexpected("fewer conditions inside each other");
    if (this.#isOperatorNext()) return this.#comparison();
    if (this.#accept("not")) return { not: this.#one(depth - 1) };
    if (!this.#accept("(")) return this.#comparison();
    const inner = this.#any(depth);
    this.#expect(")");
    return inner;
  }

  #comparison(): Where {
    const name = this.#name();
    const { text, kind } = this.#peek();
    if (this.#accept("exists")) return { [name]: { exists: true } };
    if (this.#accept("in")) return { [name]: { in: this.#values() } };
    const symbol = text.toLowerCase();
    if (kind === "text" || !Object.hasOwn(OPERATORS, symbol))
      throw this.#unexpected(`${Object.keys(OPERATORS).join(" ")} in exists`);
    this.#next++;
    return { [name]: { [OPERATORS[symbol as keyof typeof OPERATORS]]: this.#operand(symbol) } };
  }

  #name(): string {
    const { kind, text } = this.#peek();
    if (kind !== "word" && kind !== "text") throw this.#unexpected("the name of a field");
    if (/^(and|or|not)$/.test(text)) throw this.#unexpected("a name other than and, or, not");
    this.#next++;
    return text;
  }

  #operand(operator: string): WhereValue {
    const { kind } = this.#peek();
    if (operator === "contains" && kind !== "text") throw this.#unexpected("text in quotes");
    const value = this.#value();
    if (typeof value !== "boolean" || operator === "=" || operator === "!=") return value;
    this.#next--;
    throw this.#unexpected(`text in quotes or a number after ${operator}`);
  }

  #values(): WhereValue[] {
    this.#expect("(");
    const values = [this.#value()];
    while (this.#accept(",")) values.push(this.#value());
    this.#expect(")");
    return values;
  }

  #value(): WhereValue {
    const { kind, text } = this.#peek();
    const isTruth = kind === "word" && /^(true|false)$/i.test(text);
    if (kind !== "text" && kind !== "number" && !isTruth)
      throw this.#unexpected("a value: text in quotes, a number, true or false");
    this.#next++;
    if (kind === "text") return text;
    return kind === "number" ? Number(text) : text.toLowerCase() === "true";
  }

  /** Whether the next word is a field: "not" in `not = 1` is reported as a bad name. */
  #isOperatorNext(): boolean {
    const { kind, text } = this.#tokens[this.#next + 1] ?? this.#peek();
    return this.#peek().kind === "word" && kind === "symbol" && Object.hasOwn(OPERATORS, text);
  }

  #peek(): Token {
    return this.#tokens[this.#next]!;
  }

  /** Reads the next token if it is this key word or symbol. */
  #accept(expected: string): boolean {
    const { kind, text } = this.#peek();
    const isIt = (kind === "word" || kind === "symbol") && text.toLowerCase() === expected;
    if (isIt) this.#next++;
    return isIt;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw this.#unexpected(`"${symbol}"`);
  }

  #unexpected(expected: string): InputError {
    const { kind, text, start } = this.#peek();
    const remedy = kind === "word" && expected.startsWith("a value") ? text : undefined;
    const got =
      kind === "end" ? "the end" : this.#text.slice(start, start + Math.max(1, text.length));
    return unexpected(this.#text, start, expected, got, remedy);
  }
}

/** @param word an unquoted word where text is expected */
const unexpected = (
  text: string,
  start: number,
  expected: string,
  got: string,
  word?: string,
): InputError =>
  new InputError({
    where: `condition ${JSON.stringify(text)}, character ${start + 1}`,
    expected,
    got: got === "the end" ? got : JSON.stringify(got.slice(0, 40)),
    remedy: word ? `did you mean "${word}" in quotes?` : EXAMPLE,
  });

const EXAMPLE = 'write a condition such as year >= 2020 and (lang = "en" or tags contains "x")';
