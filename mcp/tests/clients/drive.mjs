// Drives a server with the official TypeScript client, as drive.py does with the Python one. This client validates every
// structured result against the tool's output schema by itself, and throws when it does not fit.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "drive", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
const answers = [];
for (const [name, args] of JSON.parse(calls)) {
  const result = await client.callTool({ name, arguments: args });
  answers.push({ error: result.isError === true, structured: result.structuredContent ?? null, text: result.content[0].text });
}
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name).sort(), answers }));
