/**
 * Checks that an editor shows what each option and each field means:
 * `tsx scripts/check-doc-comments.ts [DIST]`.
 *
 * It reads the declarations that the package exports, as an editor does. Every property of an
 * exported interface or type needs a doc comment, and that of an option its default: the one of the
 * schema, if that is a constant. The last line is `N passed, N failed`.
 */

import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { EMBEDDED_MODEL } from "../src/hub/model-name.ts";
import { defaultOf, type OptionTable } from "../src/options/option.ts";

const dist = resolve(process.argv[2] ?? "dist");
const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
  exports: Record<string, string | { readonly types: string }>;
};
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : join(dist, relative("dist", entry.types)),
);
const program = ts.createProgram(entries, {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  types: ["node"],
  allowImportingTsExtensions: true,
  noEmit: true,
});
const checker = program.getTypeChecker();
/**
 * Types that other documents describe: `config.json` (docs/MODELS.md), the operations of ONNX, and
 * interfaces of the AI SDK.
 */
const DESCRIBED_ELSEWHERE = new Set([
  "ModelConfig",
  "Ops",
  "RerankingCall",
  "RerankingModel",
  "QuestionTool",
]);
/** Callbacks, and what stops a call. */
const WITHOUT_DEFAULT = /^(on[A-Z].*|signal)$/;
const missing = new Set<string>();
let passed = 0;

for (const entry of entries) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
  for (const symbol of checker.getExportsOfModule(module)) await checkSymbol(symbol);
}
for (const name of [...missing].sort()) console.log(`FAIL  ${name}`);
console.log(`\n${passed} passed, ${missing.size} failed`);
process.exitCode = missing.size === 0 ? 0 : 1;

/** Checks the properties of an exported type. */
async function checkSymbol(exported: ts.Symbol): Promise<void> {
  const symbol =
    exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  if (!(symbol.flags & (ts.SymbolFlags.Type | ts.SymbolFlags.Class))) return;
  if (DESCRIBED_ELSEWHERE.has(symbol.name)) return;
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  if (!isObject(type)) return;
  for (const property of type.getProperties()) {
    if (!isOwn(property)) continue;
    const problem = await problemOf(property, symbol);
    if (problem === undefined) passed++;
    else missing.add(`${symbol.name}.${property.name}: ${problem}`);
  }
}

/** What is wrong with the doc comment of a property. */
async function problemOf(property: ts.Symbol, owner: ts.Symbol): Promise<string | undefined> {
  const text = ts.displayPartsToString(property.getDocumentationComment(checker));
  if (text.trim() === "") return "no doc comment";
  if (!hasDefault(property, owner)) return undefined;
  if (!/\bdefault\b/i.test(text)) return "no default";
  const value = await schemaDefault(property);
  return value === undefined || says(text, value) ? undefined : `its default is ${value}`;
}

/** The default that the schema of an option has, if it is a constant of a table. */
async function schemaDefault({ name, declarations }: ts.Symbol): Promise<unknown> {
  const literal = declarations?.[0]?.parent;
  const table = literal?.parent;
  if (!table || !ts.isVariableDeclaration(table)) return undefined;
  const file = relative(dist, table.getSourceFile().fileName).replace(/\.d\.ts$/, ".ts");
  const source = pathToFileURL(join("src", file)).href; // the compiled modules are in a bundle
  const module = (await import(source)) as Record<string, OptionTable | undefined>;
  const schema = module[table.name.getText()]?.[name];
  return schema && defaultOf(schema);
}

/** Whether a text names a value: `2,000`, `3e-4`, `1 GiB`, `false`, a word. */
function says(text: string, value: unknown): boolean {
  if (value === EMBEDDED_MODEL) return text.includes("the model of this package");
  if (typeof value !== "number") return new RegExp(`\\b${value}\\b`).test(text);
  const numbers = text.replaceAll(",", "").matchAll(/(\d+(?:\.\d+)?(?:e-?\d+)?)( GiB)?/g);
  return [...numbers].some(([, number, unit]) => Number(number) * (unit ? 2 ** 30 : 1) === value);
}

function isObject(type: ts.Type): boolean {
  if (type.isIntersection()) return type.types.every(isObject);
  return (type.flags & ts.TypeFlags.Object) !== 0;
}

function hasDefault({ name, flags }: ts.Symbol, { name: owner }: ts.Symbol): boolean {
  const isOptional = (flags & ts.SymbolFlags.Optional) !== 0;
  return isOptional && owner.endsWith("Options") && !WITHOUT_DEFAULT.test(name);
}

/** Whether this package declares a property with a name. */
function isOwn({ name, declarations = [] }: ts.Symbol): boolean {
  const isNamed = !name.startsWith("__") && !name.startsWith("#");
  const files = declarations.map((declaration) => declaration.getSourceFile().fileName);
  return isNamed && (files.length === 0 || files.some((file) => file.startsWith(dist)));
}
