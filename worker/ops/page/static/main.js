// Which view is shown: the address after # says it, so that back, forward and bookmarks work.

import { ask, Said } from "./ask.js";
import { el, place, seconds, shown } from "./dom.js";
import { leaderboard } from "./leaderboard.js";
import { match } from "./match.js";
import { player } from "./player.js";
import { worker } from "./worker.js";

const EVERY_MS = 2000;
const VIEWS = { "": worker, leaderboard, player, match };
const main = document.getElementById("view");
const state = document.getElementById("state");
const words = document.getElementById("state-words");
const who = document.getElementById("who");

let leaving = new AbortController();
let update = null; // what the view wants to know of the worker's status
let first = true;
let timer = null;
let latest = null;

function where() {
  const [, view = "", query = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash) ?? [];
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { view, parameters } = where();
  const render = VIEWS[view];
  update = null;
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.setAttribute("aria-busy", "true");
  try {
    if (!render) throw new Said(`There is no view named ${shown(view)}.`);
    const made = await render(parameters, { ask: (path, asked) => ask(path, asked, signal), signal });
    if (signal.aborted) return;
    main.replaceChildren(...made.parts.flat(3).filter((part) => part));
    document.title = made.title ? `${made.title} – rating-worker` : "rating-worker";
    update = made.update ?? null;
    made.placed?.();
    if (latest) update?.(latest);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    const again = el("button", { type: "button", onclick: show }, "Try again");
    main.replaceChildren(el("h1", {}, "Not to be had"), el("p", { class: "note bad", role: "alert" }, error.message), again);
    document.title = "Not to be had – rating-worker";
    if (!(error instanceof Said)) reportError(error); // a fault of this page
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
  if (!first) main.focus({ preventScroll: true });
  if (!first) scrollTo(0, 0);
  first = false;
}

function say(kind, text) {
  state.dataset.kind = kind;
  if (words.textContent !== text) words.textContent = text; // it is read aloud when it changes, and only then
}

async function look() {
  clearTimeout(timer);
  if (document.visibilityState !== "visible") return;
  try {
    latest = await ask("status");
    const down = latest.components.filter((one) => !one.up).map((one) => one.name);
    if (latest.ready.ok) say("good", "ready");
    else if (!latest.live.ok) say("bad", "not alive: its loop stands still");
    else say("bad", down.length ? `not ready: ${down.join(" and ")} down` : `not ready: ${latest.ready.reasons.join("; ")}`);
    const { instance_id, consumer_group, version, up_s } = latest.worker;
    who.textContent = `${shown(instance_id)} in ${shown(consumer_group)}, version ${version}, up ${seconds(up_s)}`;
    update?.(latest);
  } catch (error) {
    say(error.status === 503 ? "wait" : "bad", error.status === 503 ? "busy" : "no answer");
  }
  clearTimeout(timer);
  timer = setTimeout(look, EVERY_MS);
}

document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = document.getElementById("find-id").value;
  if (id) location.hash = place(document.getElementById("find-what").value, { id });
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", look);
show();
look();
