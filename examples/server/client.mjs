// The same run with the JavaScript SDK: npm install @langchain/langgraph-sdk, then node client.mjs
import { readFileSync } from "node:fs";
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.LANGGRAPH_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: readFileSync("workspace/.planwright/server.token", "utf-8") });

const { thread_id } = await client.threads.create();
const input = { messages: [{ role: "user", content: "Create a ticket to review the backups" }] };
const asked = await client.runs.wait(thread_id, "planwright", { input });
console.log(asked.__interrupt__[0].value.action_requests[0].description);

const resume = { decisions: [{ type: "approve" }] };
const out = await client.runs.wait(thread_id, "planwright", { command: { resume } });
console.log(`${out.status}: ${out.answer}`);
