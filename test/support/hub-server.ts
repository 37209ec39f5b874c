/**
 * A server with the part of the Hugging Face hub's API that a download uses: the commit of a
 * revision, the files of a commit, and their content. Large files are redirected, as to the CDN.
 */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface HubRepository {
  /** Branches and tags. */
  readonly refs: Readonly<Record<string, string>>;
  /** The files of all commits. */
  readonly files: Readonly<Record<string, Buffer>>;
  /** The token that may download it. */
  readonly token?: string;
  /** Whether its API is public, but not its files. */
  readonly isGated?: boolean;
}

/** What a test may do to a response with the content of a file. Returns whether it did. */
export type Fault = (request: IncomingMessage, response: ServerResponse, file: string) => boolean;

export interface HubServer extends AsyncDisposable {
  readonly url: string;
  /** `GET /path bytes=0-9`, in the order of the requests. */
  readonly requests: string[];
  fault: Fault | undefined;
}

/** Files from this size on are large files (LFS), with a SHA-256. */
const LARGE = 1_000;

const hashOf = (content: Buffer): string =>
  content.length < LARGE
    ? createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex")
    : createHash("sha256").update(content).digest("hex");

export async function startHub(
  repositories: Readonly<Record<string, HubRepository>>,
): Promise<HubServer> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, "http://hub").pathname);
    requests.push(`${request.method} ${path} ${request.headers.range ?? ""}`.trim());
    answer(repositories, request, response, path, () => hub.fault);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const hub: HubServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fault: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return hub;
}

function answer(
  repositories: Readonly<Record<string, HubRepository>>,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  fault: () => Fault | undefined,
): void {
  const refuse = (status: number, code: string) =>
    response.writeHead(status, { "X-Error-Code": code }).end(code);
  const content = /^\/cdn\/(.+)$/.exec(path)?.[1];
  if (content) {
    const [name, file] = content.split(":") as [string, string];
    if (fault()?.(request, response, file)) return;
    send(request, response, repositories[name]!.files[file]!);
    return;
  }
  const api = /^\/api\/models\/([^/]+\/[^/]+)\/(revision|tree)\/(.+)$/.exec(path);
  const resolved = /^\/([^/]+\/[^/]+)\/resolve\/([\da-f]{40})\/(.+)$/.exec(path);
  const name = api?.[1] ?? resolved?.[1] ?? "";
  const repository = repositories[name];
  const isAllowed =
    repository?.token === undefined ||
    request.headers.authorization === `Bearer ${repository.token}`;
  if (!repository || (!isAllowed && !repository.isGated)) return void refuse(401, "RepoNotFound");
  if (resolved) {
    if (!isAllowed) return void refuse(403, "GatedRepo");
    const file = repository.files[resolved[3]!];
    if (!file) return void refuse(404, "EntryNotFound");
    if (file.length < LARGE) return void send(request, response, file);
    return void response.writeHead(302, { Location: `/cdn/${name}:${resolved[3]}` }).end();
  }
  const commits = Object.values(repository.refs);
  const commit = repository.refs[api![3]!] ?? commits.find((known) => known === api![3]);
  if (commit === undefined) return void refuse(404, "RevisionNotFound");
  const found = api![2] === "tree" ? listing(repository) : { _id: "1", id: name, sha: commit };
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(found));
}

const listing = ({ files }: HubRepository): object[] => [
  { type: "directory", path: "onnx", size: 0, oid: "0".repeat(40) },
  ...Object.entries(files).map(([path, content]) => {
    const [hash, size] = [hashOf(content), content.length];
    const lfs = { oid: hash, size, pointerSize: 130 };
    return { type: "file", path, size, oid: hash.slice(0, 40), ...(size >= LARGE && { lfs }) };
  }),
];

function send(request: IncomingMessage, response: ServerResponse, content: Buffer): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  const headers = { ETag: `"${hashOf(content)}"`, "Content-Type": "application/octet-stream" };
  if (first === undefined) return void response.writeHead(200, headers).end(content);
  const part = content.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${last}/${content.length}`;
  response.writeHead(206, { ...headers, "Content-Range": range }).end(part);
}
