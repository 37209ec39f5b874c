/**
 * Writes the tables of the guides that come from the code:
 * `tsx scripts/write-reference.ts [--check]`.
 *
 * A table stands in a file of `docs` between `<!-- generated: NAME -->` and `<!-- /generated -->`.
 * With `--check`, nothing is written, and a table that differs from the code fails. An unknown
 * name, and a table that no guide shows, fail in any case. The last line is `N passed, N failed`;
 * each table counts once.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { placeholderOf, takesValue } from "../src/cli/line/option-text.ts";
import { flagOf } from "../src/cli/shared/flag-name.ts";
import { INPUT_ERRORS } from "../src/io/error-codes.ts";
import { DOCUMENT_OPTIONS } from "../src/options/document-options.ts";
import { INDEX_OPTIONS, OPEN_OPTIONS, WRITE_OPTIONS } from "../src/options/library-options.ts";
import {
  defaultOf,
  infoOf,
  isRequired,
  type OptionInfo,
  type OptionTable,
  optionally,
  valueSchema,
} from "../src/options/option.ts";
import {
  ANSWER_OPTIONS,
  HYBRID_OPTIONS,
  LANGUAGE,
  RANK_OPTIONS,
  READ_TOP_K,
  UNANSWERED,
} from "../src/options/search-request.ts";
import { ROUTES } from "../src/server/http/routes.ts";
import { SERVER_OPTIONS } from "../src/server/options.ts";
import { NEGATIVES_OPTIONS } from "../src/training/negatives/mine-negatives.ts";
import { ADAPT_OPTIONS } from "../src/training/options/adapt-options.ts";
import { SWEPT_OPTION, TRAIN_OPTIONS } from "../src/training/options/train-options.ts";
import { PHRASE_TRAINING_OPTIONS } from "../src/training/phrases/train-phrases.ts";
import { PRUNING_TRAINING_OPTIONS } from "../src/training/pruning/train-pruning.ts";

const TABLES: Readonly<Record<string, () => string>> = {
  "error codes": errorTable,
  routes: routeTable,
  "options of documents": () => optionTable(DOCUMENT_OPTIONS),
  "options of index": () => optionTable({ ...INDEX_OPTIONS, ...WRITE_OPTIONS }),
  "options of a search": () =>
    optionTable({
      ...RANK_OPTIONS,
      ...HYBRID_OPTIONS,
      lambda: optionally(HYBRID_OPTIONS.lambda, "as the model stores"),
      ...LANGUAGE,
      ...OPEN_OPTIONS,
    }),
  "options of an answer": () => optionTable({ ...READ_TOP_K, ...ANSWER_OPTIONS, ...UNANSWERED }),
  "options of serve": () => optionTable(SERVER_OPTIONS),
  "options of train": () => optionTable({ ...TRAIN_OPTIONS, ...SWEPT_OPTION }),
  "options of adapt": () =>
    optionTable(without(ADAPT_OPTIONS, { ...DOCUMENT_OPTIONS, ...TRAIN_OPTIONS })),
  "options of train phrases": () => optionTable(without(PHRASE_TRAINING_OPTIONS, TRAIN_OPTIONS)),
  "options of train negatives": () => optionTable(without(NEGATIVES_OPTIONS, TRAIN_OPTIONS)),
  "options of train pruning": () => optionTable(without(PRUNING_TRAINING_OPTIONS, TRAIN_OPTIONS)),
};

const MARKED = /(<!-- generated: (.+?) -->\n)(.*?)(<!-- \/generated -->)/gs;

function errorTable(): string {
  const rows = Object.entries(INPUT_ERRORS).map(([code, { status, meaning, remedy }]) => [
    `\`${code}\``,
    `${status}`,
    meaning,
    remedy,
  ]);
  return markdown(["code", "status", "meaning", "what to do"], rows);
}

function routeTable(): string {
  const rows = ROUTES.map(({ method, path, query, summary, body = {}, writes }) => [
    `\`${method.toUpperCase()} ${path}${query ? `?${query}={${query}}` : ""}\``,
    writes ? `${summary} With \`--writable\`.` : summary,
    Object.keys(body)
      .map((name) => `\`${name}\``)
      .join(", "),
  ]);
  return markdown(["request", "what it does", "fields of the body"], rows);
}

/** Options with a flag come first; those without one are given by the library or `--options`. */
function optionTable(table: OptionTable): string {
  const options = Object.entries(table).flatMap(([name, schema]) => {
    const info = describedBy(schema);
    return info ? [{ name, schema, info }] : [];
  });
  const hasFlag = ({ info }: { readonly info: OptionInfo }): boolean => info.flag !== false;
  const rows = [
    ...options.filter(hasFlag).map(({ name, schema, info }) => {
      const value = takesValue(schema) ? ` ${placeholderOf(schema)}` : "";
      const flag = `\`--${isOn(schema) ? "no-" : ""}${flagOf(name)}${value}\``;
      const isSeen = value.includes("|");
      return [
        flag,
        info.help + (isSeen ? "" : choicesOf(schema)),
        isOn(schema) ? "on" : shown(schema),
      ];
    }),
    ...options
      .filter((one) => !hasFlag(one))
      .map(({ name, schema, info }) => [
        `\`${name}\``,
        info.help + choicesOf(schema),
        shown(schema),
      ]),
  ];
  return markdown(["option", "meaning", "default"], rows);
}

/** Whether the flag of the option turns something off. */
const isOn = (schema: z.ZodType): boolean => defaultOf(schema) === true;

/** The words of an option that is one of several. */
function choicesOf(schema: z.ZodType): string {
  const value = valueSchema(schema);
  return value instanceof z.ZodEnum ? `: ${value.options.join(", ")}` : "";
}

/** The default as a cell shows it. */
function shown(schema: z.ZodType): string {
  const { defaultText } = infoOf(schema);
  if (defaultText !== undefined) return defaultText;
  if (isRequired(schema)) return "required";
  const value = defaultOf(schema);
  return value === undefined || value === false ? "" : `${value}`;
}

/** Undefined for a schema that is no option: its guide describes it in words. */
function describedBy(schema: z.ZodType): OptionInfo | undefined {
  try {
    return infoOf(schema);
  } catch {
    return undefined;
  }
}

/** The options that another table does not have, or has with another default. */
const without = (table: OptionTable, other: OptionTable): OptionTable =>
  Object.fromEntries(Object.entries(table).filter(([name, schema]) => other[name] !== schema));

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`.replaceAll("|  |", "| |");
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const isCheck = process.argv.includes("--check");
const unseen = new Set(Object.keys(TABLES));
let [passed, failed] = [0, 0];
const fail = (problem: string): void => {
  console.log(`FAIL  ${problem}`);
  failed++;
};
for (const file of readdirSync("docs").filter((name) => name.endsWith(".md"))) {
  const path = join("docs", file);
  const text = readFileSync(path, "utf8");
  const written = text.replace(MARKED, (whole, begin: string, name: string, old: string, end) => {
    const table = TABLES[name]?.();
    unseen.delete(name);
    if (table === undefined) fail(`${path}: expected a table of the code, got "${name}"`);
    else if (isCheck && old !== `\n${table}\n\n`)
      fail(`${path}: the table "${name}" differs from the code; run npm run docs:tables`);
    else passed++;
    return table === undefined ? whole : `${begin}\n${table}\n\n${end}`;
  });
  if (!isCheck && written !== text) writeFileSync(path, written);
}
for (const name of unseen) fail(`expected the table "${name}" in a guide`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
