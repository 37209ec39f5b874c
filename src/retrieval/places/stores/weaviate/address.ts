/**
 * Addresses of collections in Weaviate: `weaviate://HOST:PORT,HOST:PORT/COLLECTION`, or
 * `weaviates://` for TLS, with these parameters after a `?`:
 *
 *     grpc       the port of gRPC, or one for each host
 *     shards     parts of a new collection, which nodes share
 *     replicas   copies of each part of a new collection
 */

import { z } from "zod";
import { InputError } from "../../../../io/errors.ts";
import { checkCollection } from "../collection-name.ts";

/** A node of Weaviate. */
export interface WeaviateHost {
  readonly name: string;
  readonly port: number;
  readonly grpcPort: number;
}

export interface WeaviateAddress {
  /** As given; it has no secrets. */
  readonly address: string;
  readonly isEncrypted: boolean;
  readonly hosts: readonly WeaviateHost[];
  readonly collection: string;
  /** Undefined: as many as there are nodes. */
  readonly shards: number | undefined;
  readonly replicas: number;
}

const FORM = /^(weaviates?):\/\/([^/?#]+)\/([^/?#]*)(?:\?([^#]*))?$/i;

const count = z.coerce.number().int().min(1).max(1_000);
const ports = z
  .string()
  .regex(/^\d{1,5}(,\d{1,5})*$/)
  .transform((text) => text.split(",").map(Number));
const parameters = z.strictObject({
  grpc: ports.optional(),
  shards: count.optional(),
  replicas: count.default(1),
});

/** @throws {InputError} for an address of another form */
export function parseWeaviateAddress(address: string): WeaviateAddress {
  const [, scheme, hosts = "", collection = "", query = ""] = FORM.exec(address) ?? [];
  const withoutUser = address.replace(/\/\/[^/]*@/, "//");
  if (!scheme) throw badAddress(withoutUser, "another form");
  if (hosts.includes("@")) throw badAddress(withoutUser, "a user");
  const isEncrypted = scheme.toLowerCase() === "weaviates";
  const given = parameters.safeParse(Object.fromEntries(new URLSearchParams(query)));
  if (!given.success) throw badAddress(address, `?${query}`);
  const { grpc = [isEncrypted ? 443 : 50_051], shards, replicas } = given.data;
  const names = hosts.split(",");
  if (grpc.length !== 1 && grpc.length !== names.length)
    throw badAddress(address, `${grpc.length} ports of gRPC for ${names.length} hosts`);
  return {
    address,
    isEncrypted,
    hosts: names.map((name, i) => hostOf(name, grpc[i] ?? grpc[0]!, isEncrypted, address)),
    collection: checkCollection(collection, address),
    shards,
    replicas,
  };
}

function hostOf(
  text: string,
  grpcPort: number,
  isEncrypted: boolean,
  address: string,
): WeaviateHost {
  const url = URL.canParse(`ws://${text}`) ? new URL(`ws://${text}`) : undefined;
  if (!url || url.host === "") throw badAddress(address, `the host ${JSON.stringify(text)}`);
  const port = url.port || (/:80$/.test(text) ? 80 : isEncrypted ? 443 : 8080);
  return { name: url.hostname, port: Number(port), grpcPort };
}

const badAddress = (where: string, got: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where,
    expected: "weaviate://HOST:PORT/COLLECTION, with several hosts, ?grpc=, shards= or replicas=",
    got,
    remedy: "correct it; the API key belongs into WEAVIATE_API_KEY",
  });
