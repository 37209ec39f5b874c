/** The program of the guide that asks a language model, against a server of Ollama's protocol. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../src/reatt.ts";
import { temporary } from "../retrieval/support.ts";

const PASSAGES = [
  { id: "reset#10", title: "Manual > Reset", text: "Then wait a minute.", document: "reset" },
  {
    ...{ id: "reset#2", title: "Manual > Reset", document: "reset" },
    text: "To reset the password, press the red button:\n\n- hold it for ten seconds\n- let it go",
  },
  { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
];
const QUESTION = "How do I reset the password?";

interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A server that answers with what it was asked, in the form of `POST /api/chat`. */
async function startOllama(asked: ChatRequest[]) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const isChat = request.method === "POST" && request.url === "/api/chat";
    if (isChat) asked.push(JSON.parse(body));
    response.writeHead(isChat ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify({ message: { role: "assistant", content: "Hold it [1]." } }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("the program of the guide sends the prompt and prints the answer with its sources", async () => {
  await using folder = await temporary();
  const guide = await readFile("docs/LANGUAGE-MODELS.md", "utf8");
  const code = /```ts no-run\n(import \{ ReAtt \}[^`]*11434[\s\S]*?)```/.exec(guide)![1]!;
  const asked: ChatRequest[] = [];
  const { server, url } = await startOllama(asked);
  await using model = await ReAtt.load();
  await using index = await model.index(PASSAGES, { directory: join(folder.path, "index") });
  const printed: unknown[][] = [];
  const body = code
    .replace(/^import .*$/m, "")
    .replace("await using model = await ReAtt.load();", "")
    .replace(/await using index = .*;/, "")
    .replace("http://127.0.0.1:11434", url)
    .replace(" as { message: { content: string } }", "");
  const run = new Function("model", "index", "console", `return (async () => {${body}})();`);
  await run(model, index, { log: (...given: unknown[]) => printed.push(given) });
  server.close();
  const [request] = asked;
  assert.equal(
    [request!.model, request!.stream, request!.messages[0]!.role],
    ["llama3.2", false, "user"],
  );
  assert.match(request!.messages[0]!.content, `Question: ${QUESTION}`);
  assert.match(request!.messages[0]!.content, "- hold it for ten seconds");
  assert.equal(printed[0], ["Hold it [1]."]);
  assert.equal(printed[1], ["[1]", "Manual > Reset", "reset"]);
});

test("a context has the best first, documents in their order, within its tokens", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load();
  await using index = await model.index(PASSAGES, { directory: join(folder.path, "index") });
  const { text, sources, reply } = await model.context(QUESTION, index);
  assert.equal(
    sources.map(({ number, id }) => [number, id]),
    [
      [1, "reset#2"],
      [2, "reset#10"],
      [3, "lion"],
    ],
  );
  assert.is(reply.evidence[0]!.id, "reset#2");
  for (const { text: own } of sources) assert.ok(text.includes(own));
  for (const maxTokens of [16, 40, 60, 200]) {
    const short = await model.context(QUESTION, index, { maxTokens });
    assert.ok(model.tokenizer.encode(short.text).length <= maxTokens);
    assert.ok(short.sources.length <= sources.length);
  }
  const none = await model.context(QUESTION, index, { filter: new Set<string>() });
  assert.equal([none.text, none.sources], ["", []]);
  assert.match(none.prompt, "No document answers this question.");
});

test.run();
