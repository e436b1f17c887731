// A player: where they stand in each pool, their rating over time, their changes.

import { count, el, link, match, place, player as playerLink, shown, signed, svg, table, time } from "./dom.js";
import { MARKS, plot } from "./plot.js";

const ROWS = 25;
const RESULTS = { 1: "win", 0.5: "draw", 0: "loss" };
const COLUMNS = [
  { name: "When (UTC)" }, { name: "Change", number: true }, { name: "After", number: true }, { name: "Result" },
  { name: "Opponent" }, { name: "Match" },
];

export async function player({ id, pool, before, until }, { ask, signal }) {
  const found = await ask("player", { id, limit: 0 });
  const chosen = found.pools.find((one) => one.pool === pool) ?? found.pools.toSorted((a, b) => b.version - a.version)[0];
  const in_pool = { id, pool: chosen.pool };
  const { pools: [standing] } = await ask("player", { ...in_pool, limit: ROWS, before });
  const history = standing.version ? await ask("history", { ...in_pool, before: until }) : null;
  const figure = history?.points.length ? figured(history, in_pool, { before, until }, signal) : null;
  return {
    title: `Player ${shown(id)}`,
    placed: figure?.draw,
    parts: [
      el("h1", {}, "Player ", el("span", { class: "id" }, shown(id))),
      found.sanctions_in_force.map((one) => el("p", { class: "note bad" },
        `In force: ${shown(one.kind)}, ${one.pool === null ? "in every pool" : `in ${shown(one.pool)}`}, `,
        one.ends_at ? ["until ", time(one.ends_at)] : "until it is lifted", `, by ${shown(one.by)}: ${shown(one.why)}`)),
      el("nav", { class: "chips", "aria-label": "Pools" }, found.pools.map((one) => {
        const chip = el("a", { href: place("player", { id, pool: one.pool }) }, shown(one.pool), " ", el("b", {}, count(one.display_rating)));
        if (one.pool === chosen.pool) chip.setAttribute("aria-current", "true");
        return chip;
      })),
      facts(standing),
      figure?.node,
      el("h2", {}, before ? `Changes before #${count(Number(before))}` : "Latest changes"),
      standing.history.length ? table("Changes, newest first", COLUMNS, standing.history.map((step) => row(step, chosen.pool))) : el("p", {}, "None."),
      pager(standing, in_pool, before, until),
    ],
  };
}

function facts(one) {
  const state = [one.provisional && "provisional", one.inactive && "inactive", !one.inactive && one.requalify > 0 && `${one.requalify} games to requalify`];
  const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
  return el("dl", { class: "facts" },
    fact("Rating", [el("b", {}, count(one.display_rating)), `, ${shown(one.title)}`]),
    fact("State", state.filter(Boolean).join(", ") || "established"),
    fact("Games", `${count(one.games)} rated: ${count(one.wins)} won, ${count(one.draws)} drawn, ${count(one.losses)} lost`),
    fact("Highest", count(one.peak)),
    fact("Last played", time(one.last_played_at)),
    fact("On", link("leaderboard", "leaderboard", { pool: one.pool })));
}

function row(step, pool) {
  const result = step.score === null ? (MARKS[step.reason]?.[0] ?? shown(step.reason)) : RESULTS[step.score];
  return [
    time(step.occurred_at, ""), el("span", { class: `delta ${step.delta < 0 ? "down" : "up"}` }, signed(step.delta)), count(step.after),
    step.weight === 1 ? result : `${result} × ${Number(step.weight.toFixed(3))}`,
    step.opponent_id === null ? "" : playerLink(step.opponent_id, pool), step.match_id === null ? "" : match(step.match_id),
  ];
}

function pager(standing, in_pool, before, until) {
  const last = standing.history.at(-1)?.version;
  return el("p", { class: "pager" },
    before && link("Latest changes", "player", { ...in_pool, until }),
    last > 1 && link("Earlier changes", "player", { ...in_pool, before: last, until }),
    el("a", { class: "twin", href: `/api/player?${new URLSearchParams({ ...in_pool, limit: ROWS, ...(before ? { before } : {}) })}` }, "JSON"));
}

function figured(history, in_pool, { before, until }, signal) {
  const holder = el("div", { class: "holder" });
  let byTime = true;
  const draw = () => holder.clientWidth > 0 && holder.replaceChildren(plot(history, Math.max(280, holder.clientWidth), byTime));
  const across = (label, chosen) => el("label", {}, el("input", { type: "radio", name: "across", checked: chosen === byTime, onchange: () => { byTime = chosen; draw(); } }), label);
  const watch = new ResizeObserver(draw);
  watch.observe(holder);
  signal.addEventListener("abort", () => watch.disconnect());
  const marks = Object.entries(MARKS).filter(([reason]) => history.points.some((point) => point.reason === reason));
  const node = el("figure", {},
    el("figcaption", {},
      el("h2", {}, "Rating over time"),
      el("fieldset", { class: "choice" }, el("legend", { class: "hidden" }, "Across"), across("by time", true), across("by change", false))),
    holder,
    el("div", { class: "legend" },
      marks.map(([reason, [name, shape]]) => el("span", {}, svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { class: `mark-${reason}`, d: shape })), name)),
      el("span", { class: "dim" }, `${count(history.changes)} of ${count(history.version)} changes`),
      until && link("Latest", "player", { ...in_pool, before }),
      history.before && link("Before these", "player", { ...in_pool, before, until: history.before }),
      el("a", { class: "twin", href: `/api/history?${new URLSearchParams({ ...in_pool, ...(until ? { before: until } : {}) })}` }, "JSON")));
  return { node, draw };
}
