// Taking the state away: a link, Python, a command, a study file, BibTeX.

import { ask } from "./api.js";
import { address, state, task } from "./state.js";

const at = (id) => document.getElementById(id);
let texts = {};

export function start(notice) {
  at("export-open").addEventListener("click", async () => {
    const { along, minimum, d, start, optimiser, seed, seeds } = state;
    try {
      texts = await ask("/api/export", { task: task(), along, minimum, d, start, optimiser, seed, seeds });
      show();
      at("export").showModal();
    } catch (error) { notice(error.message); }
  });
  at("export-kind").addEventListener("change", show);
  at("export-close").addEventListener("click", () => at("export").close());
  at("export-copy").addEventListener("click", () => copy(at("export-text").textContent, at("export-copy")));
  at("link-copy").addEventListener("click", () => copy(location.origin + "/" + address(), at("link-copy")));
}

function show() { at("export-text").textContent = texts[at("export-kind").value] ?? ""; }

async function copy(text, button) {
  const before = button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand";
    if (button.id === "export-copy") getSelection().selectAllChildren(at("export-text"));
    else window.prompt("Copy this link", text);
  }
  setTimeout(() => { button.textContent = before; }, 1600);
}
