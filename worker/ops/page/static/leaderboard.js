// A pool's leaderboard, page by page.

import { count, day, el, link, player, shown, table } from "./dom.js";

const COLUMNS = [
  { name: "#", number: true }, { name: "Player" }, { name: "Rating", number: true }, { name: "Title" },
  { name: "Games", number: true }, { name: "Won / drawn / lost", number: true }, { name: "Last played" },
];

export async function leaderboard({ pool, after }, { ask }) {
  const { pools, more } = await ask("pools");
  const chosen = pool ?? pools[0];
  if (chosen === undefined) {
    return { title: "Leaderboards", parts: [el("h1", {}, "Leaderboards"), el("p", {}, "Nobody has played yet: the ledger is empty.")] };
  }
  const page = await ask("leaderboard", { pool: chosen, after });
  const rows = page.players.map((one) => [
    one.rank, player(one.player_id, chosen), count(one.display_rating), shown(one.title), count(one.games),
    `${count(one.wins)} / ${count(one.draws)} / ${count(one.losses)}`, day(one.last_played_at),
  ]);
  const nobody = after
    ? "That was everybody."
    : "Nobody is on it yet. Not on it are players with too few rated games (provisional), absent or suspended ones.";
  return {
    title: `${shown(chosen)} leaderboard`,
    parts: [
      el("h1", {}, "Leaderboard of ", el("span", { class: "id" }, shown(chosen))),
      el("nav", { class: "chips", "aria-label": "Pools" }, pools.map((name) => {
        const chip = link(name, "leaderboard", { pool: name });
        if (name === chosen) chip.setAttribute("aria-current", "true");
        return chip;
      }), more && el("span", { class: "dim" }, "and more: name one in the address")),
      rows.length ? table(`Leaderboard of ${shown(chosen)}`, COLUMNS, rows) : el("p", {}, nobody),
      el("p", { class: "pager" },
        after && link("First page", "leaderboard", { pool: chosen }),
        page.after && link("Next page", "leaderboard", { pool: chosen, after: page.after }),
        el("a", { class: "twin", href: `/api/leaderboard?${new URLSearchParams({ pool: chosen, ...(after ? { after } : {}) })}` }, "JSON")),
    ],
  };
}
