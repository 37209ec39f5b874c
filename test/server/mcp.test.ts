/** The tools of the Model Context Protocol, called by the official client. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { moduleArguments } from "../support/node-program.ts";
import { PASSAGES, send, startTestServer } from "./support.ts";

const server = await startTestServer();
const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)),
  stdio: () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [
        ...[...moduleArguments("src/cli/main.ts"), "mcp"],
        ...["--model", "models/reatt-mini", "--index", server.directory],
      ],
    }),
};
const QUESTION = "Who patented a steam engine in 1781?";
test.after(() => server.close());

for (const [name, createTransport] of Object.entries(transports))
  test(`search, answer and read over ${name}`, async () => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(createTransport());
    try {
      const { tools } = await client.listTools();
      assert.equal(
        tools.map((tool) => tool.name),
        ["search", "answer", "read"],
      );
      const call = async (tool: string, given: Record<string, unknown>) => {
        const { structuredContent, content, isError } = await client.callTool({
          ...{ name: tool, arguments: given },
        });
        const [{ text }] = content as unknown as [{ text: string }];
        if (!isError) assert.equal(JSON.parse(text), structuredContent);
        return { isError, text, result: JSON.parse(isError ? "{}" : text) };
      };
      const found = await call("search", { question: QUESTION, topK: 2 });
      assert.is(found.result.results[0].id, "watt/1");
      const reply = await call("answer", { question: QUESTION });
      assert.is(reply.result.answer.trim(), "James Watt");
      const direct = await send(`${server.url}/v1/answer`, { question: QUESTION });
      assert.equal(reply.result, JSON.parse(await direct.text()));
      const read = await call("read", { question: QUESTION, passages: PASSAGES });
      assert.is(read.result.answer.trim(), "James Watt");
      const filtered = await call("search", { question: QUESTION, where: "year >= 2000" });
      assert.equal(
        filtered.result.results.map(({ id }: { id: string }) => id),
        ["rhine"],
      );
      for (const bad of [{}, { question: " " }, { question: "word ".repeat(1_500) }]) {
        const failed = await call("answer", bad).catch((error) => ({ ...error, isError: true }));
        assert.is(failed.isError, true);
      }
      const sent = { question: QUESTION, topK: "2", where: null, hybrid: "true", id: null };
      assert.is((await call("search", sent)).result.results.length, 2);
      const empty = { question: QUESTION, topK: 1, where: "", hybrid: "" };
      assert.is((await call("search", empty)).result.results.length, 1);
      const passage = { id: "1", title: null, text: "James Watt patented it.", document: null };
      const nulls = await call("read", { question: QUESTION, passages: [passage], reader: null });
      assert.is(nulls.result.passages[0].title, "");
      const again = await call("search", { question: QUESTION, topK: 1 });
      assert.is(again.result.results.length, 1);
    } finally {
      await client.close();
    }
  });

test.run();
