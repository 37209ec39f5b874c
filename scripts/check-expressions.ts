/**
 * Looks for regular expressions of `src` whose time grows faster than the text, with recheck
 * (https://makenowjust-labs.github.io/recheck): `npm run check:expressions`. It does not judge all
 * of them within its time limit. The last line is `N passed, N failed`, in expressions.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { check } from "recheck";
import ts from "typescript";

process.env.RECHECK_BACKEND = "pure"; // a JVM or a program of the platform would start first

const TIMEOUT_MS = 4_000;

/** Expressions that are not linear, but whose texts are short. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/documents/readers/xlsx.ts isDateFormat": "formats have 255 characters",
  "src/documents/readers/markdown/marks.ts shortCode": "a code has 5,000 characters at most",
  "src/text/units.ts WRAPPED": "the parts before and after the line break do not overlap",
  "src/hub/cache.ts repositoryOf": "the name of a folder has 255 characters",
  "src/hub/settings.ts checkedEndpoint": "a variable that the user sets",
  "src/io/errors.ts InputError": "the parts of a message are shortened",
  "src/model/config-file.ts explain": "a message of zod",
  "src/tensor/tensorflow/load.ts loadTensorFlow": "a message of TensorFlow",
  "src/text/sentences.ts terminatorEnds": "the text has 40 characters",
  "src/training/report/samples.ts excerpt": "the text is an excerpt",
  "src/training/salient-spans/names.ts nameSpans": "a sentence",
  "src/training/salient-spans/tagger.ts isTitle": "a quotation of at most 80 characters",
};

interface Expression {
  /** The file, and the function or constant that it stands in. */
  readonly name: string;
  readonly line: number;
  readonly source: string;
  readonly flags: string;
}

function* expressionsOf(file: string): Generator<Expression> {
  const tree = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const found: Expression[] = [];
  const visit = (node: ts.Node, top: string): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
      const [source, flags] = [node.text.slice(1, end), node.text.slice(end + 1)];
      found.push({ name: `${file} ${top}`, line: line + 1, source, flags });
    }
    node.forEachChild((child) => visit(child, top));
  };
  for (const statement of tree.statements) {
    const named = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0]
      : (statement as ts.Statement & { readonly name?: ts.Node });
    visit(statement, named?.name?.getText() ?? "");
  }
  yield* found;
}

let [passed, failed] = [0, 0];
const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join("src", name));
for (const file of files.sort())
  for (const { name, line, source, flags } of expressionsOf(file)) {
    const found = await check(source, flags, { timeout: TIMEOUT_MS });
    if (found.status !== "vulnerable" || EXCEPTIONS[name] !== undefined) passed++;
    else {
      failed++;
      const { summary } = found.complexity;
      process.stdout.write(`${file}:${line} (${name}): ${summary}: /${source}/${flags}\n`);
    }
  }
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
