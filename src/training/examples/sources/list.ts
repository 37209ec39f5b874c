/** The sources that make examples of documents, in the order of plans and mixtures. */

import { crops } from "./crops.ts";
import { maskedSpans } from "./masked-spans.ts";
import { titles } from "./titles.ts";

export const SOURCES = [maskedSpans(), crops, titles] as const;

export type LabelFreeName = (typeof SOURCES)[number]["name"];
