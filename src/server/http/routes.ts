/** The routes as `/openapi.json` describes them. */

import { z } from "zod";
import {
  ANSWER_REQUEST,
  EXPLAIN_REQUEST,
  GET_REQUEST,
  MULTI_GET_REQUEST,
  PUT_REQUEST,
  READ_REQUEST,
  RETRIEVE_REQUEST,
} from "../service/requests.ts";
import {
  DOCUMENT,
  DOCUMENT_LIST,
  DOCUMENTS,
  EXPLANATIONS,
  QUESTIONS,
  REPLY,
  RETRIEVAL,
  STATUS,
} from "../service/results.ts";
import type { RouteDescription } from "./openapi.ts";

const CHANGED = z.object({ passages: z.int().describe("Passages of the index after the change.") });

export const ROUTES: readonly (RouteDescription & { readonly writes?: boolean })[] = [
  {
    method: "post",
    path: "/v1/answer",
    summary: "Finds passages and reads the answer.",
    body: ANSWER_REQUEST,
    response: REPLY,
    streams: true,
  },
  {
    method: "post",
    path: "/v1/retrieve",
    summary: "Finds the best passages.",
    body: RETRIEVE_REQUEST,
    response: RETRIEVAL,
  },
  {
    method: "post",
    path: "/v1/read",
    summary: "Reads the answer from given passages.",
    body: READ_REQUEST,
    response: REPLY,
    streams: true,
  },
  {
    method: "post",
    path: "/v1/explain",
    summary: "Says which tokens of passages match.",
    body: EXPLAIN_REQUEST,
    response: EXPLANATIONS,
  },
  {
    method: "post",
    path: "/v1/get",
    summary: "Returns a document or a passage.",
    body: GET_REQUEST,
    response: DOCUMENT,
  },
  {
    method: "post",
    path: "/v1/multi-get",
    summary: "Returns the documents whose paths match patterns.",
    body: MULTI_GET_REQUEST,
    response: DOCUMENTS,
  },
  {
    method: "get",
    path: "/v1/status",
    summary: "What the index has: its documents, and the fields and values of their metadata.",
    response: STATUS,
  },
  {
    method: "get",
    path: "/v1/documents",
    summary: "Lists the documents.",
    response: DOCUMENT_LIST,
  },
  {
    method: "get",
    path: "/v1/questions",
    summary: "Suggests questions that the passages answer.",
    response: QUESTIONS,
  },
  {
    method: "put",
    path: "/v1/passages",
    summary: "Adds or replaces passages.",
    body: PUT_REQUEST,
    response: CHANGED,
    writes: true,
  },
  {
    method: "delete",
    path: "/v1/passages/{id}",
    summary: "Deletes a passage.",
    response: CHANGED,
    writes: true,
  },
  {
    method: "delete",
    path: "/v1/passages",
    query: "id",
    summary: "Deletes a passage whose id a path cannot have: . or .., which clients resolve.",
    response: CHANGED,
    writes: true,
  },
  {
    method: "get",
    path: "/healthz",
    summary: "Whether the server runs.",
    response: z.object({ status: z.literal("ok"), passages: z.int(), generation: z.int() }),
  },
  {
    method: "get",
    path: "/readyz",
    summary: "Whether the index can be reached.",
    response: z.object({ status: z.literal("ready") }),
  },
];
