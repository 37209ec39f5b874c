/**
 * A Weaviate cluster for tests: nodes on this machine, of the server that scripts/build-weaviate
 * has built. gRPC and the port of data listen on all interfaces; the API key guards them.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const VERSION = "1.39.3";
const CACHE = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
const SERVER = process.env.REATT_WEAVIATE ?? join(CACHE, "reatt", `weaviate-server-${VERSION}`);

/** The key of the user that may do everything, and of one that may only read. */
export const API_KEY = "secret";
export const READER_KEY = "reader-secret";

/** Tenths of a second until all nodes must be ready. */
const TRIES = 1_200;
/** The ports of a node: HTTP, gRPC, gossip, data, Raft and its calls. */
const PORTS = 6;

export interface WeaviateNode {
  readonly pid: number;
  start(): Promise<void>;
  /** Ends the server as a power cut would. */
  kill(): Promise<void>;
}

export interface WeaviateServers extends AsyncDisposable {
  /** Of a collection, with further parameters. */
  address(collection: string, parameters?: string): string;
  readonly nodes: readonly WeaviateNode[];
  readonly folder: string;
  /** A call of the REST interface of the first node. */
  rest(method: string, path: string, body?: object): Promise<unknown>;
  /** The properties of an object as a node has it by itself; undefined if it has none. */
  onNode(node: number, collection: string, uuid: string): Promise<unknown>;
}

/** Nodes that run; or why there are none here. */
export async function openWeaviateServers(count: number): Promise<WeaviateServers | string> {
  if (!existsSync(SERVER)) return "there is no server: run scripts/build-weaviate";
  const folder = await mkdtemp(join(tmpdir(), "reatt-weaviate-"));
  const ports = await freePorts(count * PORTS);
  const nodes = Array.from({ length: count }, (_, i) => nodeOf(folder, i, ports, count));
  await Promise.all(nodes.map(({ start }) => start()));
  const own = (i: number): string => `127.0.0.1:${ports[i * PORTS]}`;
  const headers = { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json" };
  return {
    nodes,
    folder,
    address: (collection, parameters = "") =>
      `weaviate://${nodes.map((_, i) => own(i)).join(",")}/${collection}` +
      `?grpc=${nodes.map((_, i) => ports[i * PORTS + 1]).join(",")}${parameters}`,
    async rest(method, path, body) {
      const reply = await fetch(`http://${own(0)}/v1${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${reply.status} ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
    async onNode(node, collection, uuid) {
      const path = `/v1/objects/${collection}/${uuid}?node_name=node${node}`;
      const reply = await fetch(`http://${own(0)}${path}`, { headers });
      if (reply.status === 404) return undefined;
      if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
      return ((await reply.json()) as { properties: unknown }).properties;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(({ kill }) => kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function nodeOf(
  folder: string,
  node: number,
  ports: readonly number[],
  count: number,
): WeaviateNode {
  const own = ports.slice(node * PORTS, (node + 1) * PORTS).map(String);
  const [http, grpc, gossip, data, raft, raftCalls] = own;
  const all = Array.from({ length: count }, (_, i) => i);
  const log = openSync(join(folder, `node${node}.log`), "a");
  const settings = {
    PERSISTENCE_DATA_PATH: join(folder, `node${node}`),
    CLUSTER_HOSTNAME: `node${node}`,
    CLUSTER_IN_LOCALHOST: "true",
    CLUSTER_BIND_ADDR: "127.0.0.1",
    CLUSTER_ADVERTISE_ADDR: "127.0.0.1",
    CLUSTER_GOSSIP_BIND_PORT: gossip,
    CLUSTER_DATA_BIND_PORT: data,
    ...(node > 0 && { CLUSTER_JOIN: `127.0.0.1:${ports[2]}` }),
    RAFT_PORT: raft,
    RAFT_INTERNAL_RPC_PORT: raftCalls,
    RAFT_JOIN: all.map((i) => `node${i}:${ports[i * PORTS + 4]}`).join(","),
    RAFT_BOOTSTRAP_EXPECT: `${count}`,
    GRPC_PORT: grpc,
    DISABLE_TELEMETRY: "true",
    GO_PROFILING_DISABLE: "true",
    AUTHENTICATION_APIKEY_ENABLED: "true",
    AUTHENTICATION_APIKEY_ALLOWED_KEYS: `${API_KEY},${READER_KEY}`,
    AUTHENTICATION_APIKEY_USERS: "writer,reader",
    AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED: "false",
    AUTHORIZATION_ADMINLIST_ENABLED: "true",
    AUTHORIZATION_ADMINLIST_USERS: "writer",
    AUTHORIZATION_ADMINLIST_READONLY_USERS: "reader",
    LOG_LEVEL: "warning",
  };
  let server: ChildProcess | undefined;
  return {
    get pid() {
      return server!.pid!;
    },
    async start() {
      server = spawn(SERVER, ["--host", "127.0.0.1", "--port", http!, "--scheme", "http"], {
        env: { ...process.env, ...settings },
        stdio: ["ignore", log, log],
      });
      for (let tries = 0; ; tries++) {
        const ready = await fetch(`http://127.0.0.1:${http}/v1/.well-known/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (ready) return;
        if (tries === TRIES || server.exitCode !== null)
          throw new Error(`the server does not start: ${folder}/node${node}.log`);
        await sleep(100);
      }
    },
    async kill() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return;
      const exited = once(server, "exit");
      server.kill("SIGKILL");
      await exited;
    },
  };
}

/** Free ports one after the other: a node expects that of some of its own. */
async function freePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000); // below outgoing ones
    const ports = Array.from({ length: count }, (_, i) => first + i);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return ports;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, "listening").then(
    () => true,
    () => false,
  );
  server.listen(port, "127.0.0.1");
  if (!(await listening)) return false;
  server.close();
  await once(server, "close");
  return true;
}
