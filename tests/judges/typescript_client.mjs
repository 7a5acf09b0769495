// A client on the official TypeScript SDK, driven by a test: one JSON command per line in, one JSON event per line out.
//
//   node typescript_client.mjs NODE_MODULES SDK SERVER ANSWER
//
// SDK is "1" (@modelcontextprotocol/sdk), "2" (@modelcontextprotocol/client) or "2-auto" (the same, asking for the
// newest protocol first). SERVER is {command, args, env, cwd} or {url, headers}; ANSWER is what every elicitation is
// answered with. Among the options of a call, `progress` shows it, and it resets `timeout` (seconds).
//
//   in   {"id": 1, "do": "list"}                                      out  {"id": 1, "result": ...} or {"id": 1, "error": "..."}
//        {"id": 2, "do": "call", "params": ..., "options": ...}            {"id": 2, "progress": ...}
//        {"id": 2, "do": "cancel"}                                         {"question": ...}
//        {"id": 3, "do": "use", "method": "listPrompts", "params": ...}    (any method of the SDK's client)
//        end of file: the client leaves its server and ends                {"connected": serverInfo, "version": revision}

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
    const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ElicitRequestSchema } = load("@modelcontextprotocol/sdk/types.js");
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, asked);
    const call = (params, options) => client.callTool(params, undefined, options);
    return { client, StdioClientTransport, StreamableHTTPClientTransport, call };
  }
  const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
  const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
  const versionNegotiation = sdk === "2-auto" ? { mode: "auto" } : undefined;
  const client = new Client(info, { capabilities, versionNegotiation });
  client.setRequestHandler("elicitation/create", asked);
  const call = (params, options) => client.callTool(params, options);
  return { client, StdioClientTransport, StreamableHTTPClientTransport, call };
}

const { client, StdioClientTransport, StreamableHTTPClientTransport, call } = makeClient();
const running = new Map();

function start({ id, params, options }) {
  const aborter = new AbortController();
  running.set(id, aborter);
  const onprogress = options?.progress ? (progress) => say({ id, progress }) : undefined;
  const timeout = options?.timeout ? options.timeout * 1000 : undefined;
  return call(params, { signal: aborter.signal, onprogress, timeout, resetTimeoutOnProgress: true });
}

function perform(command) {
  switch (command.do) {
    case "list":
      return client.listTools();
    case "call":
      return start(command);
    case "use":
      return client[command.method](command.params);
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

function makeTransport({ url, headers, ...program }) {
  if (url) return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return new StdioClientTransport({ ...program, stderr: "inherit" });
}

const transport = makeTransport(JSON.parse(server));
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
say({ connected: client.getServerVersion(), version });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.do === "cancel") running.get(command.id).abort("the test takes it back");
  else void answered(command);
}
if (transport.sessionId) await transport.terminateSession();
await client.close();
