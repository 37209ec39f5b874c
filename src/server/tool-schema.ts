/**
 * JSON Schema of the tools for assistants. Clients hand it to language models, each of which takes
 * a part of JSON Schema 2020-12: no references, no patterns, one type as `type`. The server checks
 * what a tool is given by the schema of zod, which says more.
 */

import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";

type Described<Schema extends z.ZodType> = StandardSchemaWithJSON<
  z.input<Schema>,
  z.output<Schema>
>;
type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The arguments of a tool, with a description of each. */
export const argumentsSchema = <Schema extends z.ZodType>(schema: Schema): Described<Schema> =>
  described(schema, true);

/** The result of a tool. The description of the tool says what its fields are. */
export const resultSchema = <Schema extends z.ZodType>(schema: Schema): Described<Schema> =>
  described(schema, false);

function described<Schema extends z.ZodType>(
  schema: Schema,
  hasDescriptions: boolean,
): Described<Schema> {
  const { version, vendor, validate } = schema["~standard"];
  // Results as clients take them, too: with fields that are new.
  const json = () => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const show = () => simplified(json(), hasDescriptions);
  const standard = { version, vendor, validate, jsonSchema: { input: show, output: show } };
  return { "~standard": standard } as Described<Schema>;
}

/** Without what some clients refuse, and without what says nothing. */
function simplified(schema: JsonSchema, hasDescriptions: boolean): JsonSchema {
  const { $schema, $ref, pattern, propertyNames, description, type, ...json } = schema;
  const inner = (given: unknown): JsonSchema => simplified(given as JsonSchema, hasDescriptions);
  const { properties, items, additionalProperties, anyOf } = json;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (isObject(additionalProperties)) delete json.additionalProperties; // the fields of metadata
  return {
    ...(Array.isArray(type) && { anyOf: type.map((one) => ({ type: one })) }),
    ...(typeof type === "string" && { type }),
    ...json,
    ...(properties && { properties: mapValues(properties, inner) }),
    ...(items && { items: inner(items) }),
    ...(anyOf && { anyOf: anyOf.map(inner) }),
    ...(hasDescriptions && description !== undefined && { description }),
  };
}

const isObject = (given: unknown): boolean => typeof given === "object";

const mapValues = <In, Out>(given: Readonly<Record<string, In>>, change: (value: In) => Out) =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, change(value)]));
