// A match explained: each number and the rule that it came from, as `rating-worker explain` says it.

import { el, link, player, shown, signed, table, time } from "./dom.js";

const COLUMNS = [{ name: "What", head: true }, { name: "Value" }, { name: "Why" }];

export async function match({ id }, { ask }) {
  const found = await ask("match", { id });
  const [one, other] = found.players;
  const { source, policy, void: voided } = found;
  return {
    title: `Match ${shown(id)}`,
    parts: [
      el("h1", {}, "Match ", el("span", { class: "id" }, shown(found.match_id))),
      el("p", { class: "lead" }, ...result(one, other, found.pool)),
      voided && el("p", { class: "note warn" }, "Voided as of ", time(voided.voided_at), ` by ${shown(voided.by)}: ${shown(voided.why)}`),
      found.why_unrated && el("p", { class: "note warn" }, `Not rated: ${shown(found.why_unrated)}.`),
      found.contradictions.map((text) => el("p", { class: "note bad", role: "alert" }, `Contradiction: ${shown(text)}`)),
      el("dl", { class: "facts" },
        fact("Pool", link(found.pool, "leaderboard", { pool: found.pool })),
        fact("Finished", time(found.finished_at)),
        fact("Recorded", time(found.recorded_at)),
        fact("Kind", [shown(found.match_type), found.tournament_id && `, ${shown(found.tournament_id)}`, found.verified ? ", verified" : ", not verified"]),
        policy && fact("Policy", `${shown(policy.name)}, version ${policy.version}`),
        fact("From", `${shown(source.topic)}, partition ${source.partition}, offset ${source.offset}`)),
      el("div", { class: "sides" }, found.players.filter((side) => side.lines.length).map((side) =>
        el("section", {},
          el("h2", {}, player(side.player_id, found.pool), " ", change(side)),
          table(`Why ${shown(side.player_id)} moved`, COLUMNS,
            side.lines.map((line) => [shown(line.name), shown(line.value), shown(line.why)]), { stack: true })))),
      found.rated && found.consistent && el("p", { class: "note" }, "Rated again from what the ledger keeps: the same, to the last bit."),
      el("p", { class: "pager" }, el("a", { class: "twin", href: `/api/match?${new URLSearchParams({ id })}` }, "JSON")),
    ],
  };
}

const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

function result(one, other, pool) {
  const [first, second] = one.score >= other.score ? [one, other] : [other, one];
  const verb = one.score === other.score ? " and " : " beat ";
  return [player(first.player_id, pool), verb, player(second.player_id, pool), one.score === other.score ? " drew." : "."];
}

function change(side) {
  const delta = side.changes.reduce((sum, one) => sum + one.delta, 0);
  if (delta === 0) return el("span", { class: "dim" }, "±0");
  return el("span", { class: `delta ${delta < 0 ? "down" : "up"}` }, signed(delta));
}
