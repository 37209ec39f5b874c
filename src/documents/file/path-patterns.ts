/**
 * Patterns of paths as in a `.gitignore`, with regard to case as git has it.
 *
 * A pattern is compared by the set of its positions that the beginning of a path can have reached,
 * so the time grows with the length of the pattern times that of the path, whatever they are. Other
 * matchers go back for each `*`, and some patterns of 64 characters never end.
 *
 * Sources: gitignore(5); wildmatch.c and dir.c of git. `?` and `[a-z]` are a character here, and a
 * byte in git.
 */

interface Part {
  /** Whether it is one character of the path; undefined for `*`. */
  readonly accepts?: (character: string) => boolean;
  /** Whether a `*` takes slashes, too. */
  readonly takesSlashes?: boolean;
  /** `**` and the slash after it can be nothing at all. */
  readonly isOptional?: boolean;
}

interface Pattern {
  readonly parts: readonly Part[];
  /** Characters of the shortest path. */
  readonly shortest: number;
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
  /** Whether it is compared with the path, and not with the name alone. */
  readonly isOfPath: boolean;
}

export class PathPatterns {
  /** The last first: it decides. */
  readonly #patterns: readonly Pattern[];

  /** @param lines those of a file, or patterns */
  constructor(lines: string | readonly string[]) {
    const all = typeof lines === "string" ? lines.replace(/^\ufeff/, "").split("\n") : lines;
    this.#patterns = all.flatMap(patternOf).reverse();
  }

  /**
   * What the last pattern says that matches this path, which is in no folder that one matches: true
   * for a match, false for one after `!`. Undefined: none does.
   *
   * @param path with a slash at the end for a folder
   */
  decide(path: string): boolean | undefined {
    const isFolder = path.endsWith("/");
    const whole = [...(isFolder ? path.slice(0, -1) : path)];
    const name = whole.slice(whole.lastIndexOf("/") + 1);
    const found = this.#patterns.find(
      (pattern) =>
        (isFolder || !pattern.onlyFolders) && matches(pattern, pattern.isOfPath ? whole : name),
    );
    return found && !found.isNegated;
  }

  /** Whether a path matches, or a folder that it is in. */
  match(path: string): boolean {
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
      if (this.decide(path.slice(0, end + 1))) return true;
    return this.decide(path) ?? false;
  }
}

/** The pattern of a line; none for a comment, and for one that nothing matches. */
function patternOf(line: string): Pattern[] {
  let text = withoutTrailingSpaces(line.replace(/\r$/, ""));
  if (text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  if (isNegated) text = text.slice(1);
  const onlyFolders = text.endsWith("/");
  if (onlyFolders) text = text.slice(0, -1);
  const isOfPath = text.includes("/");
  const parts = text === "" ? undefined : partsOf([...text.replace(/^\//, "")], isOfPath);
  if (!parts) return [];
  const optional = parts.filter((part) => part.isOptional).length; // each with its slash
  const shortest = parts.filter(({ accepts }) => accepts).length - optional;
  return [{ parts, shortest, isNegated, onlyFolders, isOfPath }];
}

/** A backslash keeps the space after it. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes++;
  return line.slice(0, backslashes % 2 === 1 && end < line.length ? end + 1 : end);
}

/** The parts of a pattern; undefined if nothing matches it. */
function partsOf(pattern: readonly string[], isOfPath: boolean): Part[] | undefined {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === "*") {
      const begin = at;
      while (pattern[at + 1] === "*") at++;
      parts.push(starOf(pattern, begin, at, isOfPath));
    } else if (character === "?") parts.push({ accepts: (one) => one !== "/" });
    else if (character === "[") {
      const found = setAt(pattern, at);
      if (!found) return undefined;
      parts.push({ accepts: found.accepts });
      at = found.end;
    } else {
      if (character === "\\") at++;
      const own = pattern[at];
      if (own === undefined) return undefined; // a backslash at the end
      parts.push({ accepts: (one) => one === own });
    }
  }
  return parts;
}

/** One or more `*`, from `begin` to `end`. */
function starOf(pattern: readonly string[], begin: number, end: number, isOfPath: boolean): Part {
  const next = pattern[end + 1] === "\\" ? pattern[end + 2] : pattern[end + 1];
  const isAlone =
    (begin === 0 || pattern[begin - 1] === "/") && (end + 1 === pattern.length || next === "/");
  const isDouble = end > begin && isAlone;
  return {
    takesSlashes: !isOfPath || isDouble,
    isOptional: isOfPath && isDouble && pattern[end + 1] === "/",
  };
}

/** What the names of POSIX accept in `[[:digit:]]`, among the characters of ASCII. */
const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /^[A-Za-z0-9]$/,
  alpha: /^[A-Za-z]$/,
  blank: /^[ \t]$/,
  cntrl: /^\p{Cc}$/u,
  digit: /^[0-9]$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[ \t-\r]$/,
  upper: /^[A-Z]$/,
  xdigit: /^[A-Fa-f0-9]$/,
};

/** A set such as `[!a-f]` at `begin`; undefined if it does not end, or names no class. */
function setAt(
  pattern: readonly string[],
  begin: number,
): { readonly accepts: (character: string) => boolean; readonly end: number } | undefined {
  const tests: ((character: string) => boolean)[] = [];
  let at = begin + 1;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at++;
  let before: string | undefined; // the beginning of a range
  for (let first = true; first || pattern[at] !== "]"; first = false, at++) {
    let own = pattern[at];
    if (own === undefined) return undefined;
    const until = pattern[at + 1];
    if (own === "-" && before !== undefined && until !== undefined && until !== "]") {
      at += until === "\\" ? 2 : 1;
      const [low, high] = [before, pattern[at]];
      if (high === undefined) return undefined;
      tests.push((one) => low <= one && one <= high);
      before = undefined;
      continue;
    }
    if (own === "[" && until === ":") {
      const end = pattern.indexOf("]", at + 2);
      if (end === -1) return undefined;
      if (end > at + 2 && pattern[end - 1] === ":") {
        const known = CLASSES[pattern.slice(at + 2, end - 1).join("")];
        if (!known) return undefined;
        tests.push((one) => known.test(one));
        [at, before] = [end, undefined];
        continue;
      }
    }
    if (own === "\\") own = pattern[++at];
    if (own === undefined) return undefined;
    const accepted = own;
    tests.push((one) => one === accepted);
    before = own;
  }
  const accepts = (one: string): boolean =>
    one !== "/" && tests.some((test) => test(one)) !== isNegated;
  return { accepts, end: at };
}

function matches({ parts, shortest }: Pattern, text: readonly string[]): boolean {
  if (shortest > text.length) return false;
  let reached = new Set<number>();
  reach(parts, 0, reached);
  for (const character of text) {
    const next = new Set<number>();
    for (const at of reached) {
      const part = parts[at];
      if (!part) continue;
      if (!part.accepts) {
        if (part.takesSlashes || character !== "/") reach(parts, at, next);
      } else if (part.accepts(character)) reach(parts, at + 1, next);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(parts.length);
}

/** Adds a position, and those behind parts that can be nothing. */
function reach(parts: readonly Part[], from: number, reached: Set<number>): void {
  const todo = [from];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (reached.has(at)) continue;
    reached.add(at);
    const part = parts[at];
    if (!part || part.accepts) continue;
    todo.push(at + 1);
    if (part.isOptional) todo.push(at + 2);
  }
}
