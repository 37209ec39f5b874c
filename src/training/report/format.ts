/** Formats numbers and names for the report, and HTML with escaped values. */

import type { Measures } from "../../evaluation/measures.ts";

/** The system that a model is compared with: BM25. */
export interface Baseline {
  readonly name: string;
  readonly measures: Measures;
}

/** A share is a number from 0 to 1, shown in per cent. */
export type Unit = "share" | "number";

/**
 * Formats a share as `45.7 %`. Formats a number with four digits, with a power of ten if it is
 * small or large: `5e-5`.
 */
export function formatNumber(value: number, unit: Unit): string {
  if (unit === "share") return `${(100 * value).toFixed(1)} %`;
  const rounded = Number(value.toPrecision(4));
  const size = Math.abs(rounded);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return rounded.toExponential().replace("+", "");
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 12 });
}

/** `12345` -> `12,345`. */
export const formatCount = (value: number): string => value.toLocaleString("en-US");

const LABELS: Readonly<Record<string, string>> = {
  exactMatch: "EM",
  f1: "F1",
  mrr: "MRR",
  "hybrid/mrr": "hybrid MRR",
  scale: "exp(s)",
  ownProbability: "probability",
  gradientNorm: "norm",
  learningRate: "rate",
  questionsPerSecond: "questions/s",
};

/** `recall@5` -> `R@5`, `hybrid/recall@5` -> `hybrid R@5`, `exactMatch` -> `EM`. */
export const measureLabel = (name: string): string =>
  LABELS[name] ??
  name
    .replace(/^measure\//, "")
    .replace(/^hybrid\//, "hybrid ")
    .replace(/\brecall@/, "R@");

/** The measure that hybrid search has under this name: `hybrid/recall@5` -> `recall@5`. */
export const withoutHybrid = (name: string): string => name.replace(/^hybrid\//, "");

export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | undefined | readonly Part[];

/** A template tag. Escapes values unless they are `Html`, joins lists, and omits `undefined`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.map((text, i) => text + markupOf(parts[i])).join("") };
}

/** Marks text as markup. Never use it for text of a run. */
export const raw = (markup: string): Html => ({ markup });

function markupOf(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escapeText(String(part));
  return "markup" in part ? part.markup : part.map(markupOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
