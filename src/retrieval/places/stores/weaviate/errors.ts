/** Errors of Weaviate and of its client, as one line. */

import { InputError } from "../../../../io/errors.ts";
import { type Described, OTHER } from "../store-errors.ts";

const AWAY: Described = {
  code: "ERR_REATT_STORE_AWAY",
  expected: "a node that answers",
  remedy: "start it, or check the address and the network",
};

const REFUSED: Described = {
  code: "ERR_REATT_NO_PERMISSION",
  expected: "an API key of the cluster",
  remedy: "set WEAVIATE_API_KEY",
};

/** By what the name and the message of an error have; the first that fits. */
const BY_TEXT: readonly (readonly [RegExp, Described])[] = [
  [/Unauthenticated|UNAUTHENTICATED|anonymous access not enabled|invalid api key/i, REFUSED],
  [
    /InsufficientPermissions|PERMISSION_DENIED|forbidden/i,
    {
      code: "ERR_REATT_NO_PERMISSION",
      expected: "a user that may do this",
      remedy: "allow it to create, read and write collections",
    },
  ],
  [
    /read.?only|no space left|disk usage/i,
    {
      code: "ERR_REATT_DISK_FULL",
      expected: "space on the disks of the nodes",
      remedy: "free some, and run it again",
    },
  ],
  [
    /not enough (replicas|nodes|storage)|replication factor/i,
    {
      code: "ERR_REATT_BAD_OPTION",
      expected: "a node for each replica",
      remedy: "start more nodes, or ask for fewer with ?replicas=",
    },
  ],
  [
    /certificate|ERR_SSL_|ERR_TLS_|wrong version number/i,
    {
      code: "ERR_REATT_BAD_OPTION",
      expected: "a server with TLS for weaviates://, and without for weaviate://",
      remedy: "correct the address, or NODE_EXTRA_CA_CERTS and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    },
  ],
  [
    /fetch failed|timed? ?out|UNAVAILABLE|CANCELLED|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|connection|socket|consistency level|deadline|leader|broadcast|no such host|shut ?down|shutting down|status code: 50[234]/i,
    AWAY,
  ],
  [
    /class|collection|propert|vector|index|status code: 422/i,
    {
      code: "ERR_REATT_DAMAGED_INDEX",
      expected: "the collection that reatt made",
      remedy: "undo the change of the collection, or import again with --replace",
    },
  ],
];

/** A node that cannot be reached, or that is starting. */
export const nodeAway = (where: string, got: string, cause?: unknown): InputError =>
  new InputError({ where, ...AWAY, got }, { cause });

/** The `InputError` for what a call of the client threw; any other error unchanged. */
export function weaviateError(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof InputError) return error;
  const got = messageOf(error);
  const isOfClient = /^(Weaviate|TimeoutError)/.test(error.name) || got.startsWith("fetch failed");
  if (!isOfClient) return error;
  const said = `${error.name} ${got}`;
  const described = BY_TEXT.find(([pattern]) => pattern.test(said))?.[1] ?? OTHER;
  return new InputError({ where, ...described, got }, { cause: error });
}

/** Weaviate's messages have the text of a reply inside, sometimes JSON. */
function messageOf({ message, cause }: Error): string {
  const own = cause instanceof Error ? `${message}: ${cause.message || codeOf(cause)}` : message;
  const inner = /"message":"((?:[^"\\]|\\.)*)"/.exec(own)?.[1];
  return (inner ?? own).replace(/\s+/g, " ").trim().slice(0, 300);
}

const codeOf = (error: Error): string => String((error as Error & { code?: string }).code);
