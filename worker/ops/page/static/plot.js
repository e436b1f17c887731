// A player's rating over time as a plot: axes, bands of titles, marks where something else than a match moved it.

import { count, shown, svg, when } from "./dom.js";
import { scale, ticks, timeTicks } from "./scales.js";

const LEFT = 48, TOP = 14, BOTTOM = 28;
export const MARKS = {
  reset: ["Rating reset", "M-5,-5L5,-5L0,5Z"],
  lift: ["Reset lifted", "M-5,5L5,5L0,-5Z"],
  void: ["Match voided", "M-4,-4L4,4M-4,4L4,-4"],
  inactivity: ["Inactivity", "M4,0A4,4 0 1 1 -4,0A4,4 0 1 1 4,0Z"],
  floor: ["Floor: start again", "M0,-5L5,0L0,5L-5,0Z"],
};

// Times in the order of recording: one that came late stands where the line has come to.
function times(points) {
  let latest = -Infinity;
  return points.map((point) => (latest = Math.max(latest, Date.parse(point.at))));
}

export function plot(history, wide, byTime) {
  const roomy = wide >= 560;
  const high = roomy ? 330 : 250;
  const end = wide - (roomy && history.titles.length ? 120 : 14);
  const { points } = history;
  const across = byTime ? times(points) : points.map((point) => point.version);
  const ratings = points.map((point) => point.rating);
  const spread = Math.max(20, Math.max(...ratings) - Math.min(...ratings));
  const low = Math.min(...ratings) - spread * 0.08, top = Math.max(...ratings) + spread * 0.08;
  const x = scale(across[0], across.at(-1), LEFT, end);
  const y = scale(low, top, high - BOTTOM, TOP);
  const at = points.map((point, place) => [across.length === 1 ? (LEFT + end) / 2 : x(across[place]), y(point.rating)]);
  const readout = svg("g", { class: "readout" });
  const drawn = svg("svg", { class: "plot", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": summary(history) },
    bands(history.titles, low, top, y, end, roomy),
    ticks(low, top, high < 300 ? 4 : 6).map((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: end, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
    ]),
    xTicks(across, byTime, end).map(({ at: value, label }) => [
      svg("line", { class: "notch", x1: x(value), x2: x(value), y1: high - BOTTOM, y2: high - BOTTOM + 4 }),
      svg("text", { class: "tick", x: Math.min(end - 12, Math.max(LEFT + 12, x(value))), y: high - BOTTOM + 18, "text-anchor": "middle" }, label),
    ]),
    svg("line", { class: "axis", x1: LEFT, x2: end, y1: high - BOTTOM, y2: high - BOTTOM }),
    svg("polyline", { class: "line", points: at.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ") }),
    points.length <= 60 && at.map(([cx, cy]) => svg("circle", { class: "dot", cx: cx.toFixed(1), cy: cy.toFixed(1), r: 2.2 })),
    points.map((point, place) => MARKS[point.reason] &&
      svg("path", { class: `mark-${point.reason}`, d: MARKS[point.reason][1], transform: `translate(${at[place][0].toFixed(1)} ${at[place][1].toFixed(1)})` })),
    readout);
  drawn.addEventListener("pointermove", (event) => read(event, drawn, readout, points, at, wide, high));
  drawn.addEventListener("pointerleave", () => readout.replaceChildren());
  return drawn;
}

function xTicks(across, byTime, end) {
  const wanted = Math.max(2, Math.floor((end - LEFT) / 90));
  const [first, last] = [across[0], across.at(-1)];
  if (byTime) return first === last ? [{ at: first, label: when(new Date(first).toISOString()).slice(5, 16) }] : timeTicks(first, last, wanted);
  return (first === last ? [first] : ticks(first, last, wanted)).map((value) => ({ at: value, label: `#${count(value)}` }));
}

function bands(titles, low, top, y, end, roomy) {
  return titles.flatMap((rung, place) => {
    const from = place === 0 ? -Infinity : rung.lower;
    const upto = titles[place + 1]?.lower ?? Infinity;
    if (upto <= low || from >= top) return [];
    const [above, below] = [y(Math.min(upto, top)), y(Math.max(from, low))];
    return [
      svg("rect", { class: place % 2 ? "band odd" : "band", x: LEFT, y: above, width: end - LEFT, height: below - above }),
      below - above > 16 && svg("text", { class: "title", x: roomy ? end + 8 : end - 6, y: (above + below) / 2 + 4, "text-anchor": roomy ? "start" : "end" }, shown(rung.title)),
    ];
  });
}

function read(event, drawn, readout, points, at, wide, high) {
  const box = drawn.getBoundingClientRect();
  const px = ((event.clientX - box.left) / box.width) * wide;
  let best = 0;
  for (let place = 1; place < at.length; place += 1) if (Math.abs(at[place][0] - px) < Math.abs(at[best][0] - px)) best = place;
  const point = points[best];
  const said = `${when(point.at)}   ${count(point.rating)}   ${MARKS[point.reason]?.[0] ?? "match"}`;
  const left = at[best][0] > wide / 2;
  readout.replaceChildren(
    svg("line", { class: "cross", x1: at[best][0], x2: at[best][0], y1: TOP, y2: high - BOTTOM }),
    svg("circle", { class: "here", cx: at[best][0], cy: at[best][1], r: 4 }),
    svg("text", { class: "said", x: at[best][0] + (left ? -8 : 8), y: high - BOTTOM - 8, "text-anchor": left ? "end" : "start" }, said));
}

export function summary({ player_id, pool, points, changes, display_rating }) {
  const ratings = points.map((point) => point.rating);
  const marks = Object.entries(MARKS)
    .map(([reason, [name]]) => [name.toLowerCase(), points.filter((point) => point.reason === reason).length])
    .filter(([, number]) => number > 0).map(([name, number]) => `, ${name} ${number} times`).join("");
  return `Rating of ${shown(player_id)} in ${shown(pool)} over ${count(changes)} changes, from ${when(points[0].at)} to ${when(points.at(-1).at)} UTC: ` +
    `lowest ${count(Math.min(...ratings))}, highest ${count(Math.max(...ratings))}, now ${count(display_rating)}${marks}. The table below has the figures.`;
}
