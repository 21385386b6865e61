// Scenarios of the JavaScript SDK and of agent-chat-ui against one server, one after another.
// node BUNDLE URL TOKEN prints {"name": "ok", or what went wrong}.
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";
import { Page } from "./page.mjs";

const [url, token] = process.argv.slice(2);
const client = new Client({ apiUrl: url, apiKey: token });
const GRAPH = "planwright";
const APPROVE = { decisions: [{ type: "approve" }] };
let count = 0;
const file = () => `js-${process.pid}-${(count += 1)}.md`;
const human = (text) => ({ messages: [{ type: "human", content: text }] });
const TICKETS = human("What tickets are open?");
const save = (name = file()) => human(`Save hello to ${name}`);

async function thread() {
  return (await client.threads.create()).thread_id;
}

async function waiting() {
  const id = await thread();
  const output = await client.runs.wait(id, GRAPH, { input: save() });
  assert.equal(output.__interrupt__.length, 1);
  return id;
}

async function stream(id, options) {
  const chunks = [];
  for await (const chunk of client.runs.stream(id, GRAPH, options)) chunks.push(chunk);
  return chunks;
}

// A thread takes the next message and is idle after it.
async function usable(id) {
  const output = await client.runs.wait(id, GRAPH, { input: TICKETS });
  assert.equal(output.status, "completed");
  assert.equal((await client.threads.get(id)).status, "idle");
}

const events = (chunks) => new Set(chunks.map(({ event }) => event));
const open = (...more) => new Page(url, token, ...more);

const scenarios = {
  async "a question is answered"() {
    await usable(await thread());
  },
  async "values are streamed"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "values" });
    assert.equal(chunks.at(-1).data.status, "completed");
  },
  async "updates are streamed by node"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "updates" });
    const nodes = chunks.flatMap(({ data }) => Object.keys(data ?? {}));
    assert.ok(nodes.includes("session_event") && nodes.includes("session_close"));
  },
  async "events of the run are streamed"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "custom" });
    const types = chunks.filter(({ event }) => event === "custom").map(({ data }) => data.type);
    assert.equal(types[0], "run_start");
    assert.equal(types.at(-1), "run_end");
  },
  async "the answer is streamed as a message, once"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "messages-tuple" });
    const heard = chunks.filter(({ event }) => event === "messages").map(({ data }) => data[0])
      .filter(({ type, content }) => type !== "tool" && content);
    assert.equal(new Set(heard.map(({ id }) => id)).size, 1);
  },
  async "debug holds nothing of our own objects"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "debug" });
    assert.ok(!JSON.stringify(chunks).includes("__pregel_planwright"));
    assert.ok(!events(chunks).has("error"));
  },
  async "several modes are streamed at once"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: ["values", "updates", "custom"] });
    for (const name of ["values", "updates", "custom"]) assert.ok(events(chunks).has(name), name);
  },
  async "subgraphs are streamed by their namespace"() {
    const chunks = await stream(await thread(), { input: TICKETS, streamMode: "updates", streamSubgraphs: true });
    assert.ok(!events(chunks).has("error"));
  },
  async "a run in the background is joined"() {
    const id = await thread();
    const run = await client.runs.create(id, GRAPH, { input: TICKETS });
    const output = await client.runs.join(id, run.run_id);
    assert.equal(output.status, "completed");
    assert.equal((await client.runs.get(id, run.run_id)).status, "success");
  },
  async "a stream is joined"() {
    const id = await thread();
    const run = await client.runs.create(id, GRAPH, { input: TICKETS, streamMode: "values" });
    for await (const { event } of client.runs.joinStream(id, run.run_id)) assert.notEqual(event, "error");
    await usable(id);
  },
  async "an interrupted thread says so"() {
    const id = await waiting();
    const found = await client.threads.get(id);
    assert.equal(found.status, "interrupted");
    assert.equal(Object.values(found.interrupts).flat().length, 1);
  },
  async "interrupted threads are searched for"() {
    const id = await waiting();
    const found = await client.threads.search({ status: "interrupted", limit: 100 });
    assert.ok(found.some(({ thread_id }) => thread_id === id));
  },
  async "an approval goes on"() {
    const id = await waiting();
    const output = await client.runs.wait(id, GRAPH, { command: { resume: APPROVE } });
    assert.equal(output.status, "completed");
    await usable(id);
  },
  async "an approval by the id of the interrupt goes on"() {
    const id = await waiting();
    const { tasks } = await client.threads.getState(id);
    const resume = { [tasks[0].interrupts[0].id]: APPROVE };
    assert.equal((await client.runs.wait(id, GRAPH, { command: { resume } })).status, "completed");
  },
  async "a rejection ends the run"() {
    const id = await waiting();
    const resume = { decisions: [{ type: "reject", message: "not today" }] };
    assert.equal((await client.runs.wait(id, GRAPH, { command: { resume } })).status, "rejected");
    await usable(id);
  },
  async "an answer that is none is refused, and the gate stays open"() {
    const id = await waiting();
    const wrong = { command: { resume: { decisions: [] } } };
    await assert.rejects(client.runs.wait(id, GRAPH, wrong), /exactly one decision/);
    const output = await client.runs.wait(id, GRAPH, { command: { resume: APPROVE } });
    assert.equal(output.status, "completed");
  },
  async "a message over an open gate is refused"() {
    const id = await waiting();
    await assert.rejects(client.runs.wait(id, GRAPH, { input: TICKETS }), /waits for a decision/);
  },
  async "the way around a gate is refused"() {
    const id = await waiting();
    await assert.rejects(client.runs.wait(id, GRAPH, { command: { goto: "dispatch" } }), /may only resume/);
  },
  async "an interrupted run is replaced"() {
    const id = await thread();
    const first = await client.runs.create(id, GRAPH, { input: TICKETS });
    const output = await client.runs.wait(id, GRAPH, { input: TICKETS, multitaskStrategy: "interrupt" });
    assert.equal(output.status, "completed");
    await client.runs.get(id, first.run_id);
    await usable(id);
  },
  async "a run is rolled back"() {
    const id = await thread();
    await client.runs.create(id, GRAPH, { input: TICKETS });
    const output = await client.runs.wait(id, GRAPH, { input: TICKETS, multitaskStrategy: "rollback" });
    assert.equal(output.status, "completed");
    await usable(id);
  },
  async "runs are queued"() {
    const id = await thread();
    const all = [1, 2, 3].map(() =>
      client.runs.wait(id, GRAPH, { input: TICKETS, multitaskStrategy: "enqueue" }),
    );
    for (const output of await Promise.all(all)) assert.equal(output.status, "completed");
    await usable(id);
  },
  async "a run is cancelled"() {
    const id = await thread();
    const run = await client.runs.create(id, GRAPH, { input: TICKETS });
    await client.runs.cancel(id, run.run_id, true).catch((error) => {
      if (error.status !== 409 && error.status !== 404) throw error; // it had ended by then
    });
    await usable(id);
  },
  async "a client that hangs up leaves a usable thread"() {
    const id = await thread();
    const leaving = new AbortController();
    const options = { input: TICKETS, streamMode: "updates", onDisconnect: "cancel", signal: leaving.signal };
    try {
      for await (const _ of client.runs.stream(id, GRAPH, options)) leaving.abort();
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    await usable(id);
  },
  async "the history of a thread is read"() {
    const id = await thread();
    await usable(id);
    const history = await client.threads.getHistory(id, { limit: 5 });
    assert.equal(history.length, 3);
    assert.deepEqual(history[0].next, []);
  },
  async "a thread is copied and answered"() {
    const id = await waiting();
    const copy = (await client.threads.copy(id)).thread_id;
    const output = await client.runs.wait(copy, GRAPH, { command: { resume: APPROVE } });
    assert.equal(output.status, "completed");
  },
  async "a deleted thread is gone"() {
    const id = await waiting();
    await client.threads.delete(id);
    await assert.rejects(client.threads.get(id), /404/);
  },
  async "metadata of a thread are changed"() {
    const id = await thread();
    await client.threads.update(id, { metadata: { colour: "blue" } });
    assert.equal((await client.threads.get(id)).metadata.colour, "blue");
  },
  async "a run without a thread is answered"() {
    const output = await client.runs.wait(null, GRAPH, { input: TICKETS });
    assert.equal(output.status, "completed");
  },
  async "runs are begun in a batch"() {
    const ids = [await thread(), await thread()];
    const runs = await client.runs.createBatch(
      ids.map((id) => ({ threadId: id, assistantId: GRAPH, input: TICKETS })),
    );
    assert.equal(runs.length, 2);
  },
  async "the assistant shows its graph and schemas"() {
    const [assistant] = await client.assistants.search({ graphId: GRAPH });
    const graph = await client.assistants.getGraph(assistant.assistant_id, { xray: true });
    assert.ok(graph.nodes.length > 20);
    const schemas = await client.assistants.getSchemas(assistant.assistant_id);
    assert.ok("messages" in schemas.input_schema.properties);
  },
  async "an assistant of one's own has options of its own"() {
    const own = await client.assistants.create({ graphId: GRAPH, context: { dry_run: true } });
    const output = await client.runs.wait(await thread(), own.assistant_id, { input: save() });
    assert.equal(output.status, "planned");
    await client.assistants.delete(own.assistant_id);
  },
  async "the store keeps an item"() {
    await client.store.putItem(["notes"], "one", { text: "hello" });
    const item = await client.store.getItem(["notes"], "one");
    assert.equal(item.value.text, "hello");
    await client.store.deleteItem(["notes"], "one");
  },
  async "a wrong token is refused"() {
    const stranger = new Client({ apiUrl: url, apiKey: "wrong", callerOptions: { maxRetries: 0 } });
    await assert.rejects(stranger.threads.create(), /401|403/);
  },

  async "page: a message is answered"() {
    const page = open();
    await page.ask("What tickets are open?");
    assert.equal(page.texts().length, 2);
    page.close();
  },
  async "page: accept runs the plan"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.press("handleSubmit");
    assert.equal(page.stream.values.status, "completed");
    page.close();
  },
  async "page: ignore rejects the plan"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.press("handleIgnore");
    assert.equal(page.stream.values.status, "rejected");
    page.close();
  },
  async "page: an edit is verified and asked for again"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.press("handleSubmit", (gate) => {
      gate.setSelectedSubmitType("edit");
      gate.setHumanResponse((responses) =>
        responses.map((response) => {
          if (response.type !== "edit") return response;
          const plan = response.args.args.plan; // its request stays what it was
          const steps = JSON.parse(JSON.stringify(plan.steps).replaceAll("hello", "good morning"));
          const text = JSON.stringify({ ...plan, steps });
          return { ...response, editsMade: true, args: { ...response.args, args: { plan: text } } };
        }),
      );
    });
    await page.until(() => page.stream.interrupt !== undefined, "the gate of the edited plan");
    assert.ok(JSON.stringify(page.stream.interrupt.value.shown).includes("good morning"));
    await page.press("handleSubmit");
    assert.equal(page.stream.values.status, "completed");
    page.close();
  },
  async "page: words are offered only where a model can hear them"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.until(() => page.gate?.humanResponse.length > 0);
    const heard = page.stream.interrupt.value.review_configs[0].allowed_decisions.includes("respond");
    assert.equal(page.gate.humanResponse.some(({ type }) => type === "response"), heard);
    page.close();
  },
  async "page: a thread is marked as resolved"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.press("handleResolve");
    assert.equal(page.stream.values.status, "cancelled");
    await usable(page.threadId);
    page.close();
  },
  async "page: a message is edited"() {
    const page = open();
    await page.ask("What tickets are open?");
    await page.send(human("Which files are there?"), {
      checkpoint: page.before("What tickets are open?"),
      streamMode: ["values"],
    });
    assert.deepEqual([page.texts()[0], page.texts().length], ["Which files are there?", 2]);
    page.close();
  },
  async "page: an answer is asked for anew, and nothing is done again"() {
    const page = open();
    await page.ask(save().messages[0].content);
    await page.press("handleSubmit");
    const effects = page.stream.values.plan;
    await page.send(undefined, {
      checkpoint: page.before(page.texts()[1]),
      streamMode: ["values"],
      streamSubgraphs: true,
      streamResumable: true,
    });
    if (page.stream.interrupt) await page.press("handleSubmit");
    assert.equal(page.texts().length, 2);
    assert.deepEqual(page.stream.values.plan.steps, effects.steps);
    page.close();
  },
  async "page: the gate of a second question is answered below its own words"() {
    const page = open();
    await page.ask("What tickets are open?");
    for (const name of [file(), file()]) {
      const before = page.texts();
      await page.ask(save(name).messages[0].content);
      await page.until(() => page.gate !== undefined, "the gate is drawn");
      assert.deepEqual(page.texts().slice(0, -2), before);
      assert.match(page.texts().at(-1), /Approve the plan .* for: Save hello/);
      await page.press("handleSubmit");
      assert.equal(page.stream.values.status, "completed");
      assert.equal(page.texts().length, before.length + 2);
      assert.ok(!page.texts().some((text) => text.includes("Approve the plan")));
      const ids = page.stream.messages.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
    }
    page.close();
  },
  async "page: a thread that waits is opened at its second question"() {
    const id = await thread();
    await usable(id);
    await client.runs.wait(id, GRAPH, { input: save() });
    const page = open(id);
    await page.press("handleSubmit");
    assert.equal(page.stream.values.status, "completed");
    page.close();
  },
  async "page: a thread that waits is opened"() {
    const page = open(await waiting());
    await page.press("handleSubmit");
    assert.equal(page.stream.values.status, "completed");
    page.close();
  },
};

// The server looks for new runs once a second, so several scenarios are played at once.
const AT_ONCE = 8;
const LIMIT_S = 120;
const queue = Object.entries(scenarios);
const results = {};
const log = console.log;
console.log = () => {}; // the page's own

async function within(work) {
  let timer;
  const limit = new Promise((_, refuse) => {
    timer = setTimeout(() => refuse(new Error(`no end after ${LIMIT_S} s`)), LIMIT_S * 1000);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

async function playAll() {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [name, play] = next;
    try {
      await within(play());
      results[name] = "ok";
    } catch (error) {
      results[name] = `${error.stack ?? error}`.slice(0, 2000);
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, playAll));
log(JSON.stringify(results));
process.exit(0);
