// Asking for answers, and for streams of messages: of the server, or, in the page that has none, of tables and this browser.
// A stream is cancelled by its controller, or by the next one.

import { answer as answerHere, messages as messagesHere } from "./alone/answers.js";

export const alone = Boolean(window.DOTPHASE); // the data that the page without a server carries with it

const client = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
const headers = { "content-type": "application/json", client };

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export async function about() { return alone ? window.DOTPHASE.about : (await fetch("/api/about")).json(); }

// A table that ships: "diagram" or "tables".
export async function table(name) { return alone ? window.DOTPHASE[name] : (await fetch(`/data/${name}.json`)).json(); }

export async function ask(path, body, signal) {
  if (alone) return answerHere(path, body);
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, content.error || answer.statusText);
  return content;
}

// Call `each` with every message until the stream ends; again after a moment if the server is busy.
export async function stream(path, body, signal, each) {
  for (let wait = 400; ; wait = Math.min(2 * wait, 5000)) {
    try {
      return await once(path, body, signal, each);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 429) throw error;
      each({ event: "busy", reason: error.message });
      await new Promise((done) => setTimeout(done, wait));
      signal.throwIfAborted();
    }
  }
}

async function once(path, body, signal, each) {
  if (alone) return messagesHere(path, body, signal, each);
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!answer.ok) {
    const content = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, content.error || answer.statusText);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) if (event.startsWith("data: ")) each(JSON.parse(event.slice(6)));
  }
}

// One stream at a time: starting another cancels the one before.
export function channel(path) {
  let running = null;
  const stop = () => { running?.abort(); running = null; };
  const start = async (body, each) => {
    stop();
    const mine = running = new AbortController();
    try {
      await stream(path, body, mine.signal, (message) => { if (running === mine) each(message); });
    } catch (error) {
      if (running === mine && error.name !== "AbortError") each({ event: "failed", reason: error.message });
    } finally {
      if (running === mine) running = null;
    }
  };
  return { start, stop, get busy() { return running !== null; } };
}
