// How the worker is: figures that move, lag by partition, time by stage, the last warnings and errors.

import { count, el, rate, seconds, shown, svg, time } from "./dom.js";
import { spark } from "./spark.js";

const plural = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;
const named = (counts) => Object.entries(counts).map(([name, number]) => `${shown(name)} ${count(number)}`).join(", ");

function tile(name, title) {
  const value = el("dd", { class: "value", id: `tile-${name}` }, "–");
  const more = el("dd", { class: "more" });
  const curve = el("dd", { class: "curve", "aria-hidden": "true" });
  return { node: el("div", { class: "tile" }, el("dt", {}, title), value, more, curve), value, more, curve };
}

export function worker() {
  const tiles = {
    rated: tile("rated", "Rated a second"),
    lag: tile("lag", "Lag, records"),
    delay: tile("delay", "Delay, half are faster"),
    published: tile("published", "Published a second"),
    dead: tile("dead", "Dead letters"),
    retries: tile("retries", "Batches tried again"),
  };
  const components = el("ul", { class: "plain", id: "components" });
  const lag = el("div", { id: "lag" });
  const stages = el("div", { id: "stages" });
  const log = el("div", { id: "log" });
  const curves = el("p", { class: "dim small" });
  let logged = null;

  function update(status) {
    const { per_second: rates, totals, delay, history } = status;
    const span = seconds(history.seconds);
    set(tiles.rated, rate(rates.rated), `${count(totals.rated)} matches since the start, ${count(totals.unrated)} not rated`);
    set(tiles.lag, count(status.lag.records), status.lag.partitions ? `in ${plural(status.lag.partitions, "partition")}` : "holds no partition");
    set(tiles.delay, seconds(delay.p50_s), delay.records ? `99 % within ${seconds(delay.p99_s)}, from sent to acknowledged` : "nothing in the last minute");
    set(tiles.published, rate(rates.published), `${count(totals.published)} changes since the start`);
    set(tiles.dead, count(totals["dead-lettered"]), named(status.dead_letters) || "none since the start");
    set(tiles.retries, count(Object.values(status.retries).reduce((sum, one) => sum + one, 0)), named(status.retries) || "none since the start");
    curves.textContent = `Curves: the last ${span}.`;
    tiles.dead.node.classList.toggle("warn", totals["dead-lettered"] > 0);
    tiles.rated.curve.replaceChildren(spark(history.rated_per_second, span));
    tiles.lag.curve.replaceChildren(spark(history.lag, span));
    components.replaceChildren(...ups(status));
    lag.replaceChildren(...lags(status.lag));
    stages.replaceChildren(...bars(status.stages));
    const newest = JSON.stringify(status.log);
    if (newest !== logged) log.replaceChildren(lines(status.log));
    logged = newest;
  }

  return {
    title: "",
    update,
    parts: [
      el("h1", { class: "hidden" }, "Worker"),
      el("dl", { class: "tiles" }, Object.values(tiles).map((one) => one.node)),
      curves,
      el("div", { class: "columns" },
        el("section", { "aria-labelledby": "h-up" }, el("h2", { id: "h-up" }, "Up and down"), components),
        el("section", { "aria-labelledby": "h-stages" }, el("h2", { id: "h-stages" }, "A batch’s time, by stage"), stages)),
      el("section", { "aria-labelledby": "h-lag" }, el("h2", { id: "h-lag" }, "Lag by partition"), lag),
      el("section", { "aria-labelledby": "h-log" }, el("h2", { id: "h-log" }, "Last warnings and errors"), log),
      el("p", { class: "note" }, "The same as JSON: ", el("a", { href: "/api/status" }, "/api/status")),
    ],
  };
}

function set(one, value, more) {
  one.value.textContent = value;
  one.more.textContent = more;
}

function ups(status) {
  const { connections, ready, live } = status;
  const row = (good, name, why) =>
    el("li", {}, el("span", { class: `mark ${good ? "good" : "bad"}` }, good ? "up" : "down"), el("b", {}, name), " ", el("span", { class: "dim" }, why));
  const names = { kafka: "Kafka", database: "Postgres" };
  const busy = `${connections.busy ?? 0} busy, ${connections.idle ?? 0} idle, ${count(connections.most)} at most`;
  const others = ready.reasons.filter((reason) => !/^(kafka|database): /.test(reason));
  return [
    ...status.components.map((one) =>
      row(one.up, names[one.name] ?? one.name, one.up ? (one.name === "database" ? busy : "") : shown(one.why ?? ""))),
    row(live.ok, "Loop", live.ok ? "it moves" : live.reasons.join("; ")),
    row(ready.ok, "Ready", ready.ok ? "takes matches" : others.map(shown).join("; ") || "see above"),
    el("li", { class: "dim" },
      `${plural(status.rebalances, "rebalance")}, ${plural(status.fences, "fence")}, ${plural(status.lost_claims, "lost claim")}; ${status.worker.delivery}`),
  ];
}

function lags(lag) {
  if (!lag.topics.length) return [el("p", { class: "dim" }, lag.partitions ? "Not known yet." : "This worker holds no partition now.")];
  const most = Math.max(1, ...lag.topics.flatMap((topic) => topic.partitions.map((one) => one.records)));
  return lag.topics.map((topic) =>
    el("div", { class: "topic" },
      el("h3", {}, shown(topic.topic), " ", el("span", { class: "dim" }, count(topic.records))),
      el("ol", { class: "cells" }, topic.partitions.map(({ partition, records }) =>
        el("li", {},
          el("span", { class: "dim" }, el("span", { class: "hidden" }, "partition "), partition),
          el("b", {}, count(records)),
          bar(records / most)))),
      topic.more_partitions > 0 && el("p", { class: "dim" }, `and ${plural(topic.more_partitions, "partition")} more`)));
}

function bars(stages) {
  const timed = stages.filter((one) => one.mean_s !== null);
  if (!timed.length) return [el("p", { class: "dim" }, "No batch in the last minute.")];
  const most = Math.max(...timed.map((one) => one.mean_s), 1e-9);
  return [
    el("table", { class: "bars" },
      el("caption", { class: "hidden" }, "Mean time of a batch in each stage, over the last minute"),
      el("tbody", {}, timed.map((one) =>
        el("tr", {},
          el("th", { scope: "row" }, one.stage.replaceAll("_", " ")),
          el("td", { class: "number" }, seconds(one.mean_s)),
          el("td", { class: "wide", "aria-hidden": "true" }, bar(one.mean_s / most)))))),
    el("p", { class: "dim" }, "Means of the last minute. The transaction contains lock to commit database; write goes beside encode and flush."),
  ];
}

const bar = (share) =>
  svg("svg", { class: "bar-of", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 4 }),
    svg("rect", { class: "fill", width: Math.max(0, Math.min(100, 100 * share)), height: 4 }));

function lines(log) {
  if (!log.length) return el("p", { class: "dim" }, "None since the start.");
  return el("ol", { class: "log plain" }, log.map((line) => {
    const details = Object.entries(line.details);
    return el("li", {},
      time(line.at, ""), " ",
      el("span", { class: `mark ${line.level === "warning" ? "wait" : "bad"}` }, line.level), " ",
      el("span", { class: "event" }, shown(line.event)),
      details.length > 0 && el("details", {},
        el("summary", {}, details.map(([name]) => shown(name)).join(", ")),
        el("dl", { class: "facts" }, details.map(([name, value]) => [el("dt", {}, shown(name)), el("dd", {}, shown(value))]))));
  }));
}
