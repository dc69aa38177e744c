// The status from the server, twice a second, for as long as the page is open.
// With fetch: an EventSource cannot send the token.

import { ApiError, request } from "./api.js";
import { askForToken, forgetToken, storedToken } from "./token.js";

const TIMEOUT = 5000;
const RETRY = 2000;

export async function connect(onStatus, onConnection) {
  const needed = document.body.dataset.private;
  if (needed === "not configured") {
    onConnection("token required");
    return;
  }
  if (needed && !storedToken()) await enter("");
  for (;;) {
    try {
      await receive((status) => {
        onConnection("live");
        try {
          onStatus(status);
        } catch (error) {
          reportError(error); // a bug of the page, no lost connection
        }
      });
    } catch (error) {
      if (error instanceof ApiError && error.needsToken) {
        forgetToken();
        await enter(error.message);
        continue;
      }
    }
    onConnection("lost");
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }

  async function enter(problem) {
    onConnection("token required");
    while (!(await askForToken(problem))) await clickOn(document.getElementById("connection"));
    onConnection("connecting");
  }
}

async function receive(onStatus) {
  // Returns when the stream ends, or when nothing comes any more: a connection can be dropped without a close.
  const controller = new AbortController();
  let timer = setTimeout(() => controller.abort(), TIMEOUT);
  try {
    const response = await request("stream", { signal: controller.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(), TIMEOUT);
      const events = (text + value).split("\n\n");
      text = events.pop();
      for (const event of events) {
        const data = event.split("\n").find((line) => line.startsWith("data: "));
        if (data) onStatus(JSON.parse(data.slice(6)));
      }
    }
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

function clickOn(node) {
  return new Promise((resolve) => node.addEventListener("click", resolve, { once: true }));
}
