// The page of agent-chat-ui without its looks: its own hook and parser over the SDK's useStream.
import { createElement } from "react";
import TestRenderer from "react-test-renderer";
import { useStream } from "@langchain/langgraph-sdk/react";
import useInterruptedActions from "create-agent-chat-app/templates/nextjs/src/components/thread/agent-inbox/hooks/use-interrupted-actions";
import { isAgentInboxInterruptSchema } from "create-agent-chat-app/templates/nextjs/src/lib/agent-inbox-interrupt";
import { StreamContext } from "./stream_context.mjs";

const CLICK = { preventDefault() {} };
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

export class Page {
  constructor(url, token, threadId = null) {
    this.options = { apiUrl: url, apiKey: token, assistantId: "planwright", fetchStateHistory: true };
    this.threadId = threadId;
    this.root = TestRenderer.create(createElement(Thread, { page: this }));
  }

  // Wait until something is so on the page.
  async until(condition, what = String(condition)) {
    const end = Date.now() + 60_000;
    while (!condition()) {
      if (Date.now() > end) throw new Error(`never so on the page: ${what}`);
      await pause();
    }
  }

  // Send a message, and wait until the page is at rest.
  async ask(text) {
    await this.send({ messages: [{ type: "human", content: text }] }, { streamMode: ["values"] });
  }

  async send(input, options) {
    await this.until(() => this.stream !== undefined);
    await this.stream.submit(input, options);
    await this.rest();
  }

  async rest() {
    await this.until(() => !this.stream.isLoading);
    await pause();
    await this.until(() => !this.stream.isLoading);
  }

  // Press the button of a gate once it is there, and wait until that gate is gone.
  async press(button, prepare = () => {}) {
    await this.until(() => this.gate !== undefined && this.gate.humanResponse.length > 0);
    prepare(this.gate);
    await pause();
    const asked = this.stream.interrupt;
    await this.gate[button](CLICK);
    await this.until(() => this.stream.isLoading || this.stream.interrupt !== asked);
    await this.rest();
  }

  texts() {
    const spoken = this.stream.messages.filter(({ type, content }) => type !== "tool" && content);
    return spoken.map((message) => message.content);
  }

  // The checkpoint that the buttons "edit" and "regenerate" of a message begin at.
  before(text) {
    const message = this.stream.messages.find(({ content }) => content === text);
    return this.stream.getMessagesMetadata(message).firstSeenState.parent_checkpoint;
  }

  close() {
    this.root.unmount();
  }
}

function Thread({ page }) {
  const stream = useStream({
    ...page.options,
    threadId: page.threadId,
    onThreadId: (id) => {
      page.threadId = id;
      page.root.update(createElement(Thread, { page }));
    },
  });
  page.stream = stream;
  page.gate = undefined;
  const value = stream.interrupt?.value;
  const gate = isAgentInboxInterruptSchema(value) && hasPlace(stream.messages)
    ? createElement(Gate, { page, interrupt: Array.isArray(value) ? value[0] : value })
    : null;
  return createElement(StreamContext.Provider, { value: stream }, gate);
}

// The newest page draws a card below the last message, unless that is a person's and others speak, too.
function hasPlace(messages) {
  const spoken = messages.filter(({ type }) => type === "ai" || type === "tool");
  return spoken.length === 0 || messages.at(-1) === spoken.at(-1);
}

function Gate({ page, interrupt }) {
  page.gate = useInterruptedActions({ interrupt });
  return null;
}
