// Start a training in this browser: in a worker, or, where pages may not start one (file://), in slices between two frames.

import { crowd, train } from "./runs.js";

const SLICE = 12; // milliseconds of a frame

// Calls `each` with every message; returns what stops it.
export function trainHere(kind, asked, each) {
  try {
    return inWorker(kind, asked, each);
  } catch {
    return inSlices(kind, asked, each);
  }
}

function inWorker(kind, asked, each) {
  const place = window.DOTPHASE ? "worker.js" : "/page/js/network/worker.js";
  if (window.DOTPHASE && location.protocol === "file:") throw new Error("no workers here");
  const worker = new Worker(place, window.DOTPHASE ? {} : { type: "module" });
  let stopped = false;
  const stop = () => { stopped = true; worker.terminate(); };
  worker.onmessage = ({ data }) => { if (!stopped) each(data); if (data.event === "done") stop(); };
  worker.onerror = () => { if (!stopped) { stop(); each({ event: "failed", reason: "the worker could not start" }); } };
  worker.postMessage({ kind, asked });
  return stop;
}

function inSlices(kind, asked, each) {
  const messages = (kind === "crowd" ? crowd : train)(asked);
  let stopped = false;
  const next = () => {
    for (const began = performance.now(); !stopped && performance.now() - began < SLICE; ) {
      const { value, done } = messages.next();
      if (done) return;
      each(value);
    }
    if (!stopped) setTimeout(next);
  };
  setTimeout(next);
  return () => { stopped = true; };
}
