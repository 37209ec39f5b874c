/** Conditions on metadata as the description of the interface shows them: JSON Schema 2020-12. */

const value = { type: ["string", "number", "boolean"] };
const ordered = { type: ["string", "number"] };
const condition = { $ref: "#/$defs/Where" };

const comparison = {
  type: "object",
  properties: {
    eq: value,
    ne: value,
    in: { type: "array", items: value },
    gt: ordered,
    gte: ordered,
    lt: ordered,
    lte: ordered,
    contains: { type: "string" },
    exists: { type: "boolean" },
  },
  additionalProperties: false,
};

/** A condition as an object: `Where` of where.ts. */
export const WHERE_DEFINITION = {
  Where: {
    type: "object",
    properties: {
      and: { type: "array", items: condition },
      or: { type: "array", items: condition },
      not: condition,
    },
    additionalProperties: { anyOf: [value, comparison] },
  },
} as const;

export const WHERE_REFERENCE: string = condition.$ref;

const anyCase = (word: string): string => word.replace(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}]`);
const KEYWORDS = ["and", "or", "not", "in", "exists", "contains", "true", "false"].map(anyCase);
const NAME = `(?!(?:${KEYWORDS.join("|")})(?![A-Za-z0-9_]))[A-Za-z_][A-Za-z0-9_]*`;
const TEXT = `"[^"\\\\]*"`;
const NUMBER = "-?[0-9]+(?:\\.[0-9]+)?";
const VALUE = `(?:${TEXT}|${NUMBER}|true|false)`;
const SIGN = [`!?= *${VALUE}`, `[<>]=? *(?:${TEXT}|${NUMBER})`].join("|");
const WORD = [`contains *${TEXT}`, `in *\\( *${VALUE}(?: *, *${VALUE})* *\\)`, "exists"].join("|");
const ONE = `(?:not +)?${NAME}(?: *(?:${SIGN})| +(?:${WORD}))`;

/**
 * A condition as text, as parse-where.ts reads it, without parentheses: they are not regular. The
 * server also accepts the others.
 */
export const TEXT_CONDITION = `^ *${ONE}(?: +(?:and|or) +${ONE})* *$`;
