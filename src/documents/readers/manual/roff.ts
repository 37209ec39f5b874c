/**
 * The language of manual pages: lines of text, and lines that begin with a dot and call a macro.
 * Strings, registers, conditions and macros of the file itself are expanded here.
 *
 * Source: groff(7).
 */

import { append } from "../../../math/append.ts";
import type { Budget } from "../../file/budget.ts";
import { numberedLines } from "../../tree/plain-text.ts";
import { nameAt, shownText } from "./escapes.ts";

/** A line of text, a call of a macro, or the lines of a table. */
export interface RoffLine {
  /** Of the macro. Undefined for a line of text, and for a table. */
  readonly name: string | undefined;
  readonly args: readonly string[];
  /** With escapes. Of a call, all arguments as they are written. */
  readonly text: string;
  /** The line of the file. */
  readonly line: number;
  /** Of a table, as they are written. */
  readonly table?: readonly string[];
}

interface Input {
  readonly lines: readonly string[];
  at: number;
  /** The line of the file: its own lines count, those of a macro have that of the call. */
  readonly first: number;
  /** Of the macro; empty for the file. */
  readonly name: string;
}

/** Strings in strings, and parts of expressions in parts. */
const MAX_DEPTH = 50;
/** Strings that the macros of manual pages define. */
const STRINGS = [
  ["R", "®"],
  ["Tm", "™"],
  ["lq", "“"],
  ["rq", "”"],
  ["Aq", "'"],
] as const;

export class Roff {
  readonly #budget: Budget;
  readonly #inputs: Input[];
  readonly #strings = new Map<string, string>(STRINGS);
  readonly #registers = new Map<string, number>([[".g", 1]]);
  /** What `\n+x` adds to a register. */
  readonly #steps = new Map<string, number>();
  readonly #macros = new Map<string, string[]>();
  readonly #translated = new Map<string, string>();
  /** Whether the conditions of `.ie` were true whose `.el` has not come. */
  readonly #conditions: boolean[] = [];
  readonly #isBuiltIn: (name: string) => boolean;

  /** @param isBuiltIn whether a macro has a meaning that a file does not change */
  constructor(source: string, budget: Budget, isBuiltIn: (name: string) => boolean) {
    const lines = Array.from(numberedLines(source), ({ line }) => line.replace(/\r$/, ""));
    this.#inputs = [{ lines, at: 0, first: 1, name: "" }];
    this.#budget = budget;
    this.#isBuiltIn = isBuiltIn;
  }

  *lines(): Generator<RoffLine, void> {
    for (let next = this.#next(); next; next = this.#next()) yield* this.#line(...next);
  }

  /** What a text shows, with the characters that `.tr` replaces. */
  shown(source: string): ReturnType<typeof shownText> {
    const shown = shownText(source);
    if (this.#translated.size === 0) return shown;
    const text = [...shown.text].map((one) => this.#translated.get(one) ?? one).join("");
    return { ...shown, text };
  }

  /** The next line as it is written, and its number. */
  #raw(): readonly [text: string, line: number] | undefined {
    for (let input = this.#inputs.at(-1); input; input = this.#inputs.at(-1)) {
      const text = input.lines[input.at];
      if (text !== undefined) {
        this.#budget.spend("elements");
        const line = input.name === "" ? input.first + input.at : input.first;
        input.at++;
        return [text, line];
      }
      this.#inputs.pop();
    }
    return undefined;
  }

  /** The next line, with those that it goes on with, without comments. */
  #next(): readonly [text: string, line: number] | undefined {
    const first = this.#raw();
    if (!first) return undefined;
    const parts = [withoutComment(first[0])];
    while (continues(parts.at(-1)!)) {
      const more = this.#raw();
      if (!more) break;
      parts.push(parts.pop()!.slice(0, -1), withoutComment(more[0]));
    }
    const [, line] = first;
    const text = parts.join("");
    // a line that is a comment alone is none
    return /^[.']?\s*\\["#]/.test(first[0]) && text.trim().length < 2 ? [".", line] : [text, line];
  }

  *#line(given: string, line: number): Generator<RoffLine, void> {
    const [, name, rest = ""] = /^[.'][ \t]*([^\s\\]*)[ \t]*([\s\S]*)$/.exec(given) ?? [];
    if (name === undefined) {
      yield { name, args: [], text: this.#interpolated(given), line };
      return;
    }
    if (name === "if" || name === "ie" || name === "while")
      yield* this.#condition(name, this.#interpolated(rest), line);
    else if (name === "el") yield* this.#branch(!(this.#conditions.pop() ?? true), rest, line);
    else if (!this.#definition(name, rest)) yield* this.#call(name, rest, line);
  }

  *#call(name: string, rest: string, line: number): Generator<RoffLine, void> {
    if (name === "") return;
    const text = this.#interpolated(rest);
    const args = argumentsOf(text);
    const body = this.#isBuiltIn(name) ? undefined : this.#macros.get(name);
    if (name === "TS") yield { name: undefined, args, text: "", line, table: this.#until("TE") };
    else if (body === undefined) yield { name, args, text, line };
    else if (!this.#inputs.some((input) => input.name === name)) {
      for (const one of body)
        this.#budget.spend("characters", one.length + (one.split("\\$").length - 1) * text.length);
      const lines = body.map((one) => withArguments(one, args));
      this.#inputs.push({ lines, at: 0, first: line, name });
    }
  }

  *#condition(name: string, rest: string, line: number): Generator<RoffLine, void> {
    const { holds, body } = this.#tested(rest);
    if (name === "ie") this.#conditions.push(holds);
    yield* this.#branch(holds && name !== "while", body, line);
  }

  /** Reads what a condition guards, or passes over it. */
  *#branch(holds: boolean, body: string, line: number): Generator<RoffLine, void> {
    if (holds) {
      const inner = body.replace(/^\s*\\\{\s*/, "");
      if (inner.trim() !== "") yield* this.#line(inner, line);
      return;
    }
    for (let open = braces(body); open > 0; ) {
      const next = this.#raw();
      if (!next) return;
      open += braces(next[0]);
    }
  }

  #tested(given: string): { readonly holds: boolean; readonly body: string } {
    const [, marks = "", rest = ""] = /^\s*(!*)\s*([\s\S]*)$/.exec(given)!;
    const { holds, length } = this.#simple(rest);
    return { holds: marks.length % 2 === 0 ? holds : !holds, body: rest.slice(length).trimStart() };
  }

  #simple(given: string): { readonly holds: boolean; readonly length: number } {
    const [letter] = /^[notev](?![\w'])/.exec(given) ?? [];
    if (letter !== undefined) return { holds: letter === "n" || letter === "o", length: 1 };
    const [named, kind, name = ""] = /^([rdmcFS])\s*([^\s\\]+)/.exec(given) ?? [];
    if (named !== undefined) return { holds: this.#isDefined(kind!, name), length: named.length };
    const [compared, , one, other] = /^(['"])(.*?)\1(.*?)\1/.exec(given) ?? [];
    if (compared !== undefined) return { holds: one === other, length: compared.length };
    const [number = ""] = /^[^\s\\]+/.exec(given) ?? [];
    return { holds: numberOf(number) > 0, length: number.length };
  }

  #isDefined(kind: string, name: string): boolean {
    if (kind === "r") return this.#registers.has(name);
    if (kind === "d") return this.#strings.has(name) || this.#macros.has(name);
    return kind !== "m";
  }

  /** Carries out a request that defines something. Returns false for another one. */
  #definition(name: string, rest: string): boolean {
    const [, own = "", value = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest)!;
    if (name === "ds" || name === "ds1") this.#strings.set(own, copied(value.replace(/^"/, "")));
    else if (name === "as" || name === "as1")
      this.#strings.set(own, (this.#strings.get(own) ?? "") + copied(value.replace(/^"/, "")));
    else if (name === "nr") this.#register(own, this.#interpolated(value));
    else if (/^(?:de|am)i?1?$/.test(name)) {
      const body = this.#until(value.split(/\s/, 1)[0] || ".").map(copied);
      const before = name.startsWith("am") ? this.#macros.get(own) : undefined;
      if (before) append(before, body);
      else this.#macros.set(own, body);
    } else if (name === "ig") this.#until(own || ".");
    else if (name === "rm")
      for (const one of rest.split(/\s+/)) {
        this.#strings.delete(one);
        this.#macros.delete(one);
      }
    else if (name === "rr") this.#registers.delete(own);
    else if (name === "tr") {
      const characters = [...shownText(rest.trim()).text];
      for (let i = 0; i < characters.length; i += 2)
        this.#translated.set(characters[i]!, characters[i + 1] ?? " ");
    } else return false;
    return true;
  }

  #register(name: string, value: string): void {
    const [, sign = "", number = "", step] = /^([+-]?)\s*(\S*)\s*(\S*)/.exec(value)!;
    if (step) this.#steps.set(name, numberOf(step));
    const before = sign === "" ? 0 : (this.#registers.get(name) ?? 0);
    const own = numberOf(number);
    this.#registers.set(name, sign === "-" ? before - own : before + own);
  }

  /** The lines up to the one that calls `end`, which is read, too. */
  #until(end: string): string[] {
    const lines: string[] = [];
    for (let next = this.#raw(); next; next = this.#raw()) {
      const [, called] = /^[.'][ \t]*(\S*)/.exec(next[0]) ?? [];
      if (called === end) break;
      lines.push(next[0]);
    }
    return lines;
  }

  /** A text in which strings and registers are replaced. */
  #interpolated(given: string, depth = 0): string {
    if (!/\\[*n]/.test(given) || depth > MAX_DEPTH) return given;
    const parts: string[] = [];
    let at = 0;
    for (let next = given.indexOf("\\"); next !== -1; next = given.indexOf("\\", at)) {
      parts.push(given.slice(at, next));
      const mark = given[next + 1];
      const sign = mark === "n" ? (/[+-]/.exec(given[next + 2] ?? "")?.[0] ?? "") : "";
      const start = next + 2 + sign.length;
      if (mark === "*" || mark === "n") {
        const { name, end } = nameAt(given, start);
        at = end;
        parts.push(mark === "n" ? this.#number(name, sign) : this.#string(name, depth));
      } else {
        parts.push(given.slice(next, next + 2));
        at = next + 2;
      }
    }
    parts.push(given.slice(at));
    return parts.join("");
  }

  #number(name: string, sign: string): string {
    const step = sign === "" ? 0 : Number(`${sign}1`) * (this.#steps.get(name) ?? 0);
    const value = (this.#registers.get(name) ?? 0) + step;
    this.#registers.set(name, value);
    return String(value);
  }

  #string(given: string, depth: number): string {
    const [name = ""] = given.split(" ", 1);
    const value = this.#interpolated(this.#strings.get(name) ?? "", depth + 1);
    this.#budget.spend("characters", value.length);
    return value;
  }
}

/** Whether a line goes on with the next one: it ends with a backslash that no other one quotes. */
const continues = (line: string): boolean => /(?<!\\)(?:\\\\)*\\$/.test(line);

function withoutComment(line: string): string {
  for (let at = line.indexOf("\\"); at !== -1; at = line.indexOf("\\", at + 2))
    if (line[at + 1] === '"' || line[at + 1] === "#") return line.slice(0, at).trimEnd();
  return line;
}

/** What a definition keeps: the next reading replaces what has two backslashes now. */
const copied = (text: string): string => text.replaceAll("\\\\", "\\");

/** How many blocks of a condition a line opens and does not close. */
const braces = (line: string): number =>
  (line.match(/\\\{/g)?.length ?? 0) - (line.match(/\\\}/g)?.length ?? 0);

/** The arguments of a call: words, or quoted texts in which `""` is a quote. */
export function argumentsOf(text: string): string[] {
  const args = text.match(/"(?:[^"]|"")*(?:"|$)|(?:\\[\s\S]|[^\\ ])(?:\\[\s\S]|[^\\ ])*/g) ?? [];
  return args.map((one) =>
    one.startsWith('"')
      ? one
          .slice(1)
          .replace(/(?<!")"$|(?<="")"$/, "")
          .replaceAll('""', '"')
      : one,
  );
}

/** A line of a macro in which `\$1`, `\$(10`, `\$*` and `\$@` are replaced. */
const withArguments = (line: string, args: readonly string[]): string =>
  line.replace(/\\\$(?:(\d)|\((\d\d)|\[(\d{1,3})\]|([*@]))/g, (_, one, two, more, all) =>
    all === undefined ? (args[Number(one ?? two ?? more) - 1] ?? "") : args.join(" "),
  );

/** The value of an expression of integers, from left to right: `\n(.$>1`, `1.5i`. */
function numberOf(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?[a-zA-Z]?|<=|>=|==|[-+*/%<>=&:()]/g) ?? [];
  let at = 0;
  const operand = (depth: number): number => {
    const token = tokens[at++] ?? "0";
    if (token === "(" && depth < MAX_DEPTH) {
      const value = sum(depth + 1);
      at++;
      return value;
    }
    if (token === "-" && depth < MAX_DEPTH) return -operand(depth + 1);
    return Number.parseFloat(token) || 0;
  };
  const sum = (depth: number): number => {
    let value = operand(depth);
    for (let token = tokens[at]; token !== undefined && token !== ")"; token = tokens[at]) {
      at++;
      value = applied(token, value, operand(depth));
    }
    return value;
  };
  return sum(0);
}

function applied(operator: string, a: number, b: number): number {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  if (operator === "*") return a * b;
  if (operator === "/") return Math.trunc(a / (b || 1));
  if (operator === "%") return a % (b || 1);
  if (operator === "<") return Number(a < b);
  if (operator === ">") return Number(a > b);
  if (operator === "<=") return Number(a <= b);
  if (operator === ">=") return Number(a >= b);
  if (operator === "&") return Number(a > 0 && b > 0);
  if (operator === ":") return Number(a > 0 || b > 0);
  return Number(a === b);
}
