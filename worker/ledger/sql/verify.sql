-- What `verify` reads, all of it in one snapshot. The large tables are read once, by cursors or by stretches; everything
-- else goes by keys, some thousands at a time. Where $n is a list of pools (pool_id), null means every pool.

-- name: stretch_of_ledger
-- How much there is to read.
select count(*) as entries, coalesce(min(entry_id), 0) as first, coalesce(max(entry_id), 0) as last from ledger;

-- name: estimates
-- How many matches, players and events there are by the statistics of the tables, for the progress alone.
select relname, greatest(reltuples, 0)::bigint as rows from pg_class
where oid in (to_regclass('matches'), to_regclass('ratings'), to_regclass('events'));

-- name: pools
select pool_id, name from pools order by name;

-- name: sources
select source_id from sources;

-- name: entries
-- A stretch of the ledger in recorded order: each row as the worker writes it, with the names of its player.
select l.entry_id, p.name as pool, r.player_id,
       l.rating_id, l.version, l.opponent_rating_id, l.match_id, l.reason, l.before, l.after, l.delta, l.expected,
       l.score, l.k, l.k_rule, l.weight, l.factors, l.adjusted, l.games, l.policy_id, l.occurred_at, l.cause,
       l.opponent_before
from ledger l
left join ratings r using (rating_id)
left join pools p using (pool_id)
where l.entry_id > $1 and l.entry_id <= $2 and ($3::integer[] is null or r.pool_id = any($3))
order by l.entry_id;

-- name: matches_of
-- Matches by their ids, with the names of both players.
select m.match_id, p.name as pool, m.lo_rating_id, m.hi_rating_id, lo.player_id as lo_player, hi.player_id as hi_player,
       m.lo_version, m.hi_version, m.lo_steps, m.hi_steps, m.lo_score, m.attributes, m.finished_at, m.match_type,
       m.tournament_id, m.verified, m.voided, m.unrated_reason, m.unrated_player, m.digest
from matches m
left join ratings lo on lo.rating_id = m.lo_rating_id
left join ratings hi on hi.rating_id = m.hi_rating_id
left join pools p on p.pool_id = lo.pool_id
where m.match_id in (select unnest($1::text[]));

-- name: matches
-- Every match, in no order.
select m.match_id, m.source_id, m.source_partition, m.source_offset, m.lo_version, m.voided, m.unrated_reason
from matches m
left join ratings lo on lo.rating_id = m.lo_rating_id
where $1::integer[] is null or lo.pool_id = any($1);

-- name: entries_of
-- Entries by their keys.
select rating_id, version, reason, match_id, cause, delta
from unnest($1::bigint[], $2::integer[]) b(rating_id, version)
join ledger using (rating_id, version);

-- name: pair_times
-- When the pairs' rated matches finished that are not voided, and the version that each gave the first of the pair.
select b.pair::integer as pair, m.finished_at, m.lo_version
from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[])
    with ordinality b(lo, hi, since, until, pair)
join matches m on m.lo_rating_id = b.lo and m.hi_rating_id = b.hi
    and m.finished_at > b.since and m.finished_at <= b.until and m.lo_version is not null and not m.voided;

-- name: events
-- Every event that is no match, in no order.
select event_id, kind, source_id, source_partition, source_offset, digest, body, changes from events;

-- name: events_of
select event_id, body, changes from events where event_id in (select unnest($1::text[]));

-- name: waiting_voids_of
select match_id from waiting_voids where match_id in (select unnest($1::text[]));

-- name: waiting_voids
select match_id from waiting_voids;

-- name: sanctions
select sanction_id, player_id, kind, starts_at, ends_at, pool, why, decided_by, lifted_at, lifted_why, lifted_by, taken
from sanctions;

-- name: sanctions_of
select sanction_id, player_id, kind, starts_at, ends_at, pool, why, decided_by, lifted_at, lifted_why, lifted_by, taken
from sanctions where sanction_id in (select unnest($1::text[]));

-- name: sanctions_of_players
select player_id, kind, starts_at, ends_at, pool from sanctions where player_id in (select unnest($1::text[]));

-- name: refused_entries
select e.tournament_id, e.player_id
from unnest($1::text[], $2::text[]) b(tournament_id, player_id)
join entries e using (tournament_id, player_id)
where e.refused is not null;

-- name: players_of
select r.rating_id, p.name as pool, r.player_id, r.pool_id
from ratings r join pools p using (pool_id)
where r.rating_id in (select unnest($1::bigint[]));

-- name: ratings
-- Every player of every pool, in no order.
select p.name as pool, r.player_id, r.rating_id, r.provisional, r.title,
       r.rating, r.version, r.games, r.wins, r.draws, r.losses, r.peak, r.last_played_at, r.idle_steps, r.inactive,
       r.requalify, r.boost, r.restarted
from ratings r
join pools p using (pool_id)
where $1::integer[] is null or r.pool_id = any($1);
