// A client on the official TypeScript SDK, driven by a test: one JSON command per line in, one JSON event per line out.
//
//   node typescript_client.mjs NODE_MODULES SDK SERVER ANSWER
//
// SDK is "1" (@modelcontextprotocol/sdk), "2" (@modelcontextprotocol/client) or "2-auto" (the same, asking for the
// newest protocol first). SERVER is {command, args, env, cwd}; ANSWER is what every elicitation is answered with.
//
//   in   {"id": 1, "do": "list"}                                      out  {"id": 1, "result": ...} or {"id": 1, "error": "..."}
//        {"id": 2, "do": "call", "params": ..., "options": ...}            {"id": 2, "progress": ...}
//        {"id": 2, "do": "cancel"}                                         {"question": ...}
//        end of file: the client closes its server and ends                {"connected": serverInfo}

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [nodeModules, sdk, server, answer] = process.argv.slice(2);
const load = createRequire(nodeModules + "/");

const say = (event) => process.stdout.write(JSON.stringify(event) + "\n");

function makeClient() {
  const info = { name: "tests", version: "1" };
  const capabilities = { elicitation: {} };
  const asked = async (request) => {
    say({ question: request.params });
    return JSON.parse(answer);
  };
  if (sdk === "1") {
    const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
    const { ElicitRequestSchema } = load("@modelcontextprotocol/sdk/types.js");
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, asked);
    return { client, StdioClientTransport, call: (params, options) => client.callTool(params, undefined, options) };
  }
  const { Client } = load("@modelcontextprotocol/client");
  const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
  const versionNegotiation = sdk === "2-auto" ? { mode: "auto" } : undefined;
  const client = new Client(info, { capabilities, versionNegotiation });
  client.setRequestHandler("elicitation/create", asked);
  return { client, StdioClientTransport, call: (params, options) => client.callTool(params, options) };
}

const { client, StdioClientTransport, call } = makeClient();
const running = new Map();

function start({ id, params, options }) {
  const aborter = new AbortController();
  running.set(id, aborter);
  const onprogress = options?.progress ? (progress) => say({ id, progress }) : undefined;
  return call(params, { signal: aborter.signal, onprogress });
}

function perform(command) {
  switch (command.do) {
    case "list":
      return client.listTools();
    case "call":
      return start(command);
    default:
      throw new Error(`unknown command ${command.do}`);
  }
}

async function answered(command) {
  try {
    say({ id: command.id, result: await perform(command) });
  } catch (error) {
    say({ id: command.id, error: String(error) });
  }
}

await client.connect(new StdioClientTransport({ ...JSON.parse(server), stderr: "inherit" }));
say({ connected: client.getServerVersion() });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.do === "cancel") running.get(command.id).abort("the test takes it back");
  else void answered(command);
}
await client.close();
