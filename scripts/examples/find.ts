/** Finds the examples in the docstrings of a public API. */

import { relative } from "node:path";
import ts from "typescript";

export interface Example {
  /** What it is an example of: `train`, `ReAtt.load`. */
  readonly name: string;
  /** `FILE:LINE` of the declaration. */
  readonly where: string;
  readonly code: string;
  readonly run: boolean;
}

const BLOCK = /^```ts( no-run)?[ \t]*\n(.*?)^```[ \t]*$/gms;

/** All examples of what the entry files export, and the functions and methods that have none. */
export function findExamples(entries: readonly string[]): {
  examples: Example[];
  missing: Pick<Example, "name" | "where">[];
} {
  const program = ts.createProgram({ rootNames: entries, options: compilerOptions() });
  const checker = program.getTypeChecker();
  const examples: Example[] = [];
  const missing: Pick<Example, "name" | "where">[] = [];

  function visit(symbol: ts.Symbol, name: string, required: boolean): void {
    const where = place(symbol);
    const own = codeBlocks(symbol).map((block) => ({ name, where, ...block }));
    examples.push(...own);
    if (required && own.length === 0) missing.push({ name, where });
  }

  for (const symbol of new Set(entries.flatMap((entry) => exportsOf(program, checker, entry)))) {
    const members = publicMembers(symbol);
    const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0 && !isMadeInside(symbol);
    const isInterface = (symbol.flags & ts.SymbolFlags.Interface) !== 0 || isMadeInside(symbol);
    const isFunction = (symbol.flags & ts.SymbolFlags.Function) !== 0;
    visit(symbol, symbol.name, isFunction || (isInterface && !isClass && members.some(isMethod)));
    for (const member of members)
      visit(
        member,
        `${symbol.name}.${member.name}`,
        isClass && isMethod(member) && !isOverride(member),
      );
  }
  return { examples, missing };

  function codeBlocks(symbol: ts.Symbol): Pick<Example, "code" | "run">[] {
    const tags = symbol.getJsDocTags(checker).filter(({ name }) => name === "example");
    return tags.flatMap(({ text }) =>
      [...`${ts.displayPartsToString(text)}\n`.matchAll(BLOCK)].map(([, noRun, code]) => ({
        code: code!,
        run: noRun === undefined,
      })),
    );
  }
}

/** The options of tsconfig.json, for programs that are only checked. */
export function compilerOptions(): ts.CompilerOptions {
  const { config, error } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, "\n"));
  const { rootDir: _, ...options } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    process.cwd(),
  ).options;
  return options;
}

function exportsOf(program: ts.Program, checker: ts.TypeChecker, entry: string): ts.Symbol[] {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${entry}: no such file, or it exports nothing`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) =>
      symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    );
}

/** The public members of a class or an interface that have a name, static members included. */
function publicMembers(symbol: ts.Symbol): ts.Symbol[] {
  const isClass = symbol.flags & ts.SymbolFlags.Class;
  const all = [...(symbol.members?.values() ?? []), ...(isClass ? symbol.exports!.values() : [])];
  return all.filter(({ declarations = [] }) =>
    declarations.some(
      (declaration) =>
        (ts.isClassElement(declaration) || ts.isTypeElement(declaration)) &&
        declaration.name !== undefined &&
        ts.isIdentifier(declaration.name) &&
        !(
          ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.NonPublicAccessibilityModifier
        ),
    ),
  );
}

/** Whether users get the objects of a class without making any: its constructor is internal. */
function isMadeInside({ flags, members }: ts.Symbol): boolean {
  if ((flags & ts.SymbolFlags.Class) === 0) return false;
  const [maker] = members?.get("__constructor" as ts.__String)?.declarations ?? [];
  return maker !== undefined && ts.getJSDocTags(maker).some(isInternal);
}

const isInternal = ({ tagName }: ts.JSDocTag): boolean => tagName.text === "internal";

function isMethod(symbol: ts.Symbol): boolean {
  return (symbol.flags & ts.SymbolFlags.Method) !== 0;
}

/** A method that the base class documents. */
function isOverride({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(
    (declaration) => ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Override,
  );
}

function place({ declarations }: ts.Symbol): string {
  const [declaration] = declarations!;
  const source = declaration!.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(declaration!.getStart());
  return `${relative(process.cwd(), source.fileName)}:${line + 1}`;
}
