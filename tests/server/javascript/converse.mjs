// One conversation through the JavaScript SDK: ask, read what waits, answer, read the end.
// node converse.mjs URL TOKEN '{"request": …, "resume": …}' prints one JSON object.
import { Client } from "@langchain/langgraph-sdk";

const [url, token, job] = process.argv.slice(2);
const { request, resume } = JSON.parse(job);
const client = new Client({ apiUrl: url, apiKey: token });

const { thread_id } = await client.threads.create();
const events = [];
const input = { messages: [{ role: "user", content: request }] };
for await (const { event, data } of client.runs.stream(thread_id, "planwright", {
  input,
  streamMode: ["custom", "updates"],
})) {
  if (event === "custom") events.push(data.type);
}
const waiting = await client.threads.getState(thread_id);
const asked = waiting.tasks.flatMap((task) => task.interrupts);
const out = await client.runs.wait(thread_id, "planwright", { command: { resume } });
const ended = await client.threads.getState(thread_id);
console.log(
  JSON.stringify({ thread_id, events, asked, next: ended.next, status: out.status, answer: out.answer }),
);
