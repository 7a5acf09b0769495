// Codex from a program of yours, with the TypeScript SDK of MCP: node typescript_sdk.mjs one|approval|long|two
//
// Needs: npm install @modelcontextprotocol/sdk, and codex-mcp.

import { createInterface } from "node:readline/promises";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

// By default the SDK gives up a call after a minute. Progress resets that time.
const patient = { timeout: 60_000, resetTimeoutOnProgress: true, onprogress: ({ message }) => console.log(message) };

const codex = new Client({ name: "my-program", version: "1" }, { capabilities: { elicitation: {} } });

// Codex asks before it leaves its sandbox.
codex.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  const person = createInterface({ input: process.stdin, output: process.stdout });
  const accepted = (await person.question(`${params.message} [y/N] `)) === "y";
  person.close();
  return { action: accepted ? "accept" : "decline", content: {} };
});

async function call(name, args) {
  const { structuredContent } = await codex.callTool({ name, arguments: args }, undefined, patient);
  return structuredContent;
}

const examples = {
  async one() {
    const { content, threadId } = await call("codex", { prompt: "List the files of this folder." });
    console.log(content);
    console.log((await call("codex-reply", { threadId, prompt: "Which of them is the largest?" })).content);
  },
  async approval() {
    const asked = { prompt: "Write NOTES.md.", sandbox: "read-only", "approval-policy": "on-request" };
    console.log((await call("codex", asked)).content);
  },
  async long() {
    console.log((await call("codex", { prompt: "Work for a while." })).content);
    console.log((await call("codex", { prompt: "Work for a while.", background: true })).status);
    console.log((await call("codex_wait", {})).finished[0].content);
  },
  async two() {
    const calls = ["first", "second"].map((who) => call("codex", { prompt: `You are the ${who} one. Work.` }));
    for (const { content } of await Promise.all(calls)) console.log(content);
  },
};

await codex.connect(new StdioClientTransport({ command: "codex-mcp", args: ["mcp-server"], env: process.env }));
await examples[process.argv[2]]();
await codex.close();
