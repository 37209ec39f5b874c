/** Faults of the index and the machine, keys, names of the server, and limits of the tools. */

import { once } from "node:events";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../src/io/errors.ts";
import { readApiKeys } from "../../src/server/http/api-keys.ts";
import { apiErrorFrom } from "../../src/server/service/api-error.ts";
import { open, portOf } from "./sockets.ts";
import { send, startTestServer } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-faults-"));
test.after(() => rmSync(folder, { recursive: true }));
const QUESTION = { question: "Who patented a steam engine in 1781?", topK: 2 };

const bodyOf = async (response: Response) => JSON.parse(await response.text());

test("a damaged index is a fault of the server, and only the log has its path", async () => {
  const server = await startTestServer({ writable: true });
  try {
    const segments = join(server.directory, "segments");
    const segment = join(segments, readdirSync(segments)[0]!);
    for (const name of readdirSync(segment)) {
      const file = join(segment, name);
      writeFileSync(file, Buffer.alloc(readFileSync(file).length, "x"), { flag: "r+" });
    }
    const passage = { id: "new", text: "Oxygen is an element." };
    const put = { method: "PUT" };
    for (const response of [
      await send(`${server.url}/v1/retrieve`, QUESTION),
      await send(`${server.url}/v1/answer`, { ...QUESTION, where: { year: 1781 } }),
      await send(`${server.url}/v1/explain`, { ...QUESTION, topK: undefined, passages: ["rhine"] }),
      await send(`${server.url}/v1/passages`, { passages: [passage] }, put),
    ]) {
      const text = await response.text();
      assert.is(response.status, 500, text);
      assert.not.match(text, server.directory);
      assert.not.match(text, "segments");
      assert.is(JSON.parse(text).error.code, "internal");
    }
    const errors = server.lines.filter(({ level }) => level === "error");
    assert.is(errors.length, 4);
    for (const { event, fields } of errors) {
      assert.is(event, "fault");
      assert.match(String(fields!.message), server.directory);
    }
  } finally {
    await server.close();
  }
});

test("a full disk, and another writer", async () => {
  const full = Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
  const problem = { where: "/srv/index", expected: "a", got: "b", remedy: "c" };
  const shown = apiErrorFrom(new InputError(problem, { cause: full }));
  assert.equal([shown.status, shown.code], [507, "insufficient_storage"]);
  assert.not.match(shown.message, "/srv");
  assert.is(apiErrorFrom(new InputError(problem)).status, 500);
  assert.is(apiErrorFrom(new DOMException("gone", "AbortError")).status, 499);
});

test("without its folder, a server is not ready", async () => {
  const server = await startTestServer();
  const away = `${server.directory}-away`;
  try {
    renameSync(server.directory, away);
    const response = await fetch(`${server.url}/readyz`);
    const { error } = await bodyOf(response);
    assert.equal([response.status, error.code], [503, "unavailable"]);
    assert.not.match(error.message, server.directory);
    // The regular look for changes logs that it failed, too.
    const fault = server.lines.find(({ event }) => event === "fault" || event === "defect");
    assert.is(fault!.event, "fault");
    assert.match(String(fault!.fields!.message), server.directory);
    renameSync(away, server.directory);
    assert.is((await fetch(`${server.url}/readyz`)).status, 200);
  } finally {
    await server.close();
  }
});

test("an empty name of a document is a mistake of the client", async () => {
  const server = await startTestServer({ writable: true });
  try {
    const passages = [{ id: "new", text: "Oxygen is an element.", document: "" }];
    const response = await send(`${server.url}/v1/passages`, { passages }, { method: "PUT" });
    assert.is(response.status, 400);
    assert.match((await bodyOf(response)).error.message, /passages.*document/);
    assert.is(server.index.passageCount, 3);
  } finally {
    await server.close();
  }
});

test("the log has no question of a request that no route sees", async () => {
  const server = await startTestServer();
  try {
    for (const target of ["/?q=secret", "/#secret", "http://[bad/?q=secret"]) {
      const socket = await open(
        portOf(server.url),
        `GET ${target} HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n`,
      );
      await once(socket.resume(), "close");
    }
    const requests = server.lines.filter(({ event }) => event === "request");
    assert.is(requests.length, 3);
    for (const { fields } of requests) {
      assert.is(fields!.status, 400);
      assert.not.match(JSON.stringify(fields), "secret");
    }
  } finally {
    await server.close();
  }
});

test("a filter without a match is a reply without an answer", async () => {
  const server = await startTestServer();
  try {
    for (const where of ["year = 1", { nowhere: { exists: true } }]) {
      const reply = await send(`${server.url}/v1/answer`, { ...QUESTION, where });
      assert.is(reply.status, 200);
      const { answer, abstained, passages, confidence } = await bodyOf(reply);
      assert.equal([answer, abstained, passages, confidence], ["", true, [], 0]);
    }
  } finally {
    await server.close();
  }
});

test("clients that leave in the middle of a body are no errors", async () => {
  const server = await startTestServer();
  try {
    for (const path of ["/v1/answer", "/mcp"]) {
      const socket = await open(
        portOf(server.url),
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
          `Content-Length: 100\r\n\r\n{"question":`,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.destroy();
    }
    const requests = () => server.lines.filter(({ event }) => event === "request");
    while (requests().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(
      requests().map(({ fields }) => fields!.status),
      [499, 499],
    );
    assert.not.ok(server.lines.some(({ level }) => level === "error"));
  } finally {
    await server.close();
  }
});

const HOSTS = ["0.0.0.0", "::", "127.0.0.2", "127.1", "LOCALHOST", "::ffff:127.0.0.1", "localhost"];

for (const host of HOSTS)
  test(`a page of another site cannot ask or write through --host ${host}`, async () => {
    const allowedHost = ["Docs.example"];
    const server = await startTestServer({ host, writable: true, allowedHost });
    try {
      const statusOf = (name: string, method = "GET", path = "/healthz") =>
        new Promise<number>((resolve, reject) => {
          const headers = { Host: name, "Content-Type": "application/json" };
          httpRequest(server.url, { path, method, headers }, (response) => {
            response.resume();
            resolve(response.statusCode!);
          })
            .on("error", reject)
            .end(method === "PUT" ? '{"passages":[{"id":"x","text":"y"}]}' : undefined);
        });
      for (const name of ["evil.example", "evil.example:80", "localhost.evil.example", "1.evil"]) {
        assert.is(await statusOf(name), 403, name);
        assert.is(await statusOf(name, "PUT", "/v1/passages"), 403, name);
        assert.is(await statusOf(name, "DELETE", "/v1/passages/rhine"), 403, name);
      }
      assert.is(server.index.passageCount, 3);
      for (const name of [
        "localhost:8080",
        "127.0.0.1",
        "[::1]:80",
        "192.168.7.9",
        "DOCS.example.",
      ])
        assert.is(await statusOf(name), 200, name);
      const warns = server.lines.some(({ event }) => event === "open");
      assert.is(warns, host === "0.0.0.0" || host === "::");
    } finally {
      await server.close();
    }
  });

const refusal = (file: string): Promise<string> =>
  readApiKeys(file).then(
    () => "accepted",
    (error: unknown) => (error instanceof InputError ? error.message : String(error)),
  );

test("files of keys", async () => {
  const file = join(folder, "keys");
  const key = "0123456789abcdef";
  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 });
  write(`# of the page\n#\n${key}\n`);
  assert.is((await readApiKeys(file))(key), true);
  for (const [text, expected] of [
    [`#${key}\n`, /keys:1: .*begins with #/],
    [`${key}\nschlüssel-${key}\n`, /keys:2: .*beyond ASCII/],
    [`${key} ${key}\n`, /keys:1: .*a space/],
    ["short\n", /keys:1: .*one of 5 characters/],
    ["", /got none/],
    ["# only\n", /got none/],
  ] as const) {
    write(text);
    const message = await refusal(file);
    assert.match(message, expected);
    assert.not.match(message, key);
  }
  if (process.platform === "win32") return;
  write(`${key}\n`);
  for (const mode of [0o622, 0o620, 0o602, 0o666]) {
    chmodSync(file, mode);
    assert.match(await refusal(file), /only its owner can write, .*; run: chmod go-w/);
  }
  chmodSync(file, 0o644);
  assert.is(await refusal(file), "accepted");
});

test("tools: limits of nesting and size, and timeouts", async () => {
  const server = await startTestServer({ timeout: 0.001 });
  try {
    const ask = (body: string) =>
      fetch(`${server.url}/mcp`, {
        ...{ method: "POST", body },
        headers: {
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
        },
      });
    const call = (where: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":` +
      `{"question":"Who?","where":${where}}}}`;
    const nested = call(`${'{"not":'.repeat(50_000)}{}${"}".repeat(50_000)}`);
    for (const body of [nested, "[".repeat(100_000), "{", ""])
      assert.is((await ask(body)).status, 400, body.slice(0, 20));
    assert.is((await ask(`"${"x".repeat(8_000_001)}"`)).status, 413);
    const late = await (await ask(call("{}"))).text();
    assert.match(late, "the request took more than 0.001 s");
    assert.not.ok(server.lines.some(({ level }) => level === "error"));
  } finally {
    await server.close();
  }
});

test.run();
