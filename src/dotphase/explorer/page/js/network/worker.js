// A training beside the page, in a worker that ends with it.

import { crowd, train } from "./runs.js";

self.onmessage = ({ data: { kind, asked } }) => {
  for (const message of (kind === "crowd" ? crowd : train)(asked)) self.postMessage(message);
};
