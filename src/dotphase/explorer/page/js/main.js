// The page begins: learn the bounds, read the address, start the views.

import { about, alone } from "./api.js";
import * as branches from "./branches.js";
import * as controls from "./controls.js";
import * as counting from "./counting.js";
import * as diagram from "./diagram.js";
import * as looks from "./looks.js";
import { addTools } from "./plots.js";
import * as share from "./share.js";
import * as story from "./story/story.js";
import { change, learn, onChange, readAddress, state } from "./state.js";
import * as tour from "./tour.js";
import * as training from "./training.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const notice = (text) => { document.getElementById("notice").textContent = text; };

function theme() {
  document.documentElement.dataset.theme = state.theme || (dark.matches ? "dark" : "light");
  for (const view of [diagram, branches, training, looks, counting]) view.paint();
}

// Until the solver has loaded, the page can be looked at.
async function untilReady() {
  for (;;) {
    try {
      const told = await about();
      if (told.ready) break;
      notice("The solver is warming up; the map is already there.");
    } catch { notice("The server does not answer. Is `dotphase explore` still running?"); }
    await new Promise((done) => setTimeout(done, 400));
  }
  notice("");
}

// The library that draws takes a second to load: the controls do not wait for it.
function plotly() {
  return new Promise((done) => { if (window.Plotly) done(); else document.getElementById("plotly").addEventListener("load", done); });
}

// Who answers: a server, or the tables of the page.
function speaker({ version }) {
  const off = window.DOTPHASE?.tables.interpolation;
  document.getElementById("speaker").textContent = alone
    ? `No server: numbers come from tables that dotphase ${version} has computed, interpolated between their points (nine of ten test errors to within ${(100 * off.most).toPrecision(2)} %); networks train and letters are counted in your browser.`
    : `dotphase ${version} on this machine computes every answer when it is asked for.`;
  for (const element of document.querySelectorAll("[data-server]")) element.hidden = alone;
}

async function begin() {
  const query = new URLSearchParams(location.search);
  if (query.has("embed")) document.documentElement.dataset.embed = query.get("embed") || "all";
  const told = await about();
  speaker(told);
  story.start().catch((error) => notice(`The story could not start: ${error.message}`));
  learn(told);
  Object.assign(state, readAddress());
  document.getElementById("version").textContent = told.version;
  addTools();
  controls.start(told, notice);
  onChange((changed) => { if (changed.has("theme")) theme(); });
  dark.addEventListener("change", theme);
  document.getElementById("theme").addEventListener("click", () => change({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }));
  window.addEventListener("hashchange", () => change(readAddress()));
  share.start(notice);
  tour.start();
  theme();
  await diagram.start();
  if (location.hash.includes("alpha=")) document.getElementById("lab").scrollIntoView({ behavior: "instant" }); // a link to the laboratory
  document.documentElement.dataset.controls = String(performance.now());
  await plotly(); // whatever is asked of the server before would take the cores that it needs
  theme();
  await diagram.drawn();
  for (const view of [branches, training, looks]) view.start();
  document.documentElement.dataset.ready = String(performance.now());
  await untilReady();
}

begin().catch((error) => notice(`The page could not start: ${error.message}`));
