/** The description of the HTTP interface: OpenAPI 3.1, from the schemas that check requests. */

import { z } from "zod";
import type { OptionTable } from "../../options/option.ts";
import { ERROR_CODES } from "../service/api-error.ts";
import { WHERE_DEFINITION } from "../service/where-description.ts";

/** A route as the description shows it. */
export interface RouteDescription {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters in braces: `/v1/passages/{id}`. */
  readonly path: string;
  /** The name of a parameter behind `?`. */
  readonly query?: string;
  readonly summary: string;
  readonly body?: OptionTable;
  readonly response: z.ZodType;
  /** Whether the response can be a stream of `text` events and a `reply` event. */
  readonly streams?: boolean;
}

const ERROR = z.object({ error: z.object({ code: z.enum(ERROR_CODES), message: z.string() }) });

export function describeApi(
  routes: readonly RouteDescription[],
  version: string,
  needsKey: boolean,
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method] = describeRoute(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "reatt", version, description: "Finds passages and reads answers from them." },
    ...(needsKey && { security: [{ key: [] }] }),
    paths,
    components: {
      schemas: { Error: schemaOf(ERROR) },
      ...(needsKey && { securitySchemes: { key: { type: "http", scheme: "bearer" } } }),
    },
  };
}

function describeRoute(route: RouteDescription): object {
  const { path, query, summary, body, response, streams } = route;
  const parameter = (name: string, place: "path" | "query") => ({
    ...{ name, in: place, required: true },
    schema: { type: "string" },
  });
  const parameters = [
    ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => parameter(name!, "path")),
    ...(query === undefined ? [] : [parameter(query, "query")]),
  ];
  const json = { "application/json": { schema: schemaOf(response) } };
  const events = {
    "text/event-stream": {
      schema: { type: "string", description: "Events: text (pieces), then reply or error." },
    },
  };
  const error = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: bodySchema(path, body) } },
      },
    }),
    responses: {
      200: { description: "OK", content: streams ? { ...json, ...events } : json },
      default: { description: "An error", content: error },
    },
  };
}

/** The schema of a body. It has an id, so that its references stay inside it. */
function bodySchema(path: string, body: OptionTable): object {
  const schema = schemaOf(z.strictObject(body), "input");
  return "where" in body ? { $id: `${path}/body`, ...schema, $defs: WHERE_DEFINITION } : schema;
}

function schemaOf(schema: z.ZodType, io: "input" | "output" = "output"): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return described;
}
