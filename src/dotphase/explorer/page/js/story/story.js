// The story above the laboratory: five scenes. Its numbers are those of the tables, whoever else may answer below.

import { table } from "../api.js";
import { Tables } from "../alone/tables.js";
import * as crowd from "./crowd.js";
import * as curves from "./curves.js";
import * as sentences from "./sentences.js";

export async function start() {
  const tables = new Tables(await table("tables"));
  const numbers = (branch, alpha, omega) => tables.branch({ student: "softmax", sigma: 0.5, lambda: 0.01, minimum: "lowest", alpha, omega }, branch);
  sentences.start((branch) => numbers(branch, 2, 0.3));
  curves.start(numbers, tables.alpha);
  crowd.start(numbers);
  document.documentElement.dataset.story = String(performance.now());
}
