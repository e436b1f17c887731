-- Voids, sanctions, tournaments and notices, as the batch transaction reads and writes them.

-- name: known_events
select e.event_id, s.topic, e.source_partition, e.source_offset, e.digest, e.changes
from events e
join sources s using (source_id)
where e.event_id in (select unnest($1::text[]));

-- name: entries
-- Ledger entries by their keys, for publishing again.
select p.name as pool, r.player_id, o.player_id as opponent_id, l.*
from unnest($1::bigint[], $2::integer[]) b(rating_id, version)
join ledger l using (rating_id, version)
join ratings r using (rating_id)
join pools p using (pool_id)
left join ratings o on o.rating_id = l.opponent_rating_id
order by l.entry_id;

-- name: notices_of
select kind, key, subject, body, occurred_at, origin
from notices where origin in (select unnest($1::text[])) order by notice_id;

-- name: recorded_matches
select m.match_id, p.name as pool, lo.player_id as lo_player, hi.player_id as hi_player, m.lo_score, m.attributes,
       m.finished_at, m.match_type, m.tournament_id, m.verified, m.voided, m.unrated_reason
from matches m
join ratings lo on lo.rating_id = m.lo_rating_id
join ratings hi on hi.rating_id = m.hi_rating_id
join pools p on p.pool_id = lo.pool_id
where m.match_id in (select unnest($1::text[]));

-- name: waiting_voids
select e.body from waiting_voids w join events e on e.event_id = 'void:' || w.match_id
where w.match_id in (select unnest($1::text[]));

-- name: lock_verdicts
-- A sanction and its lift meet at their player, though two workers may have them at the same time: no row is there to
-- lock yet. Two players of one hash wait for each other in vain, which harms nothing.
select pg_advisory_xact_lock(hashtextextended('verdict:' || b.player_id, 0))
from (select player_id from unnest($1::text[]) b(player_id) order by 1) b;

-- name: sanctions_of
select sanction_id, player_id, kind, starts_at, ends_at, pool, why, decided_by, lifted_at, taken
from sanctions where player_id in (select unnest($1::text[])) order by sanction_id;

-- name: waiting_lifts
select body from events where event_id in (select unnest($1::text[]));

-- name: pools_played
-- In which pools players have a rating.
select p.name, b.player_id
from unnest($1::text[]) b(player_id)
cross join pools p
join ratings r on r.pool_id = p.pool_id and r.player_id = b.player_id;

-- name: pools_reset
-- In which pools the resets that are lifted took something.
select t.one ->> 0 as pool, s.player_id
from sanctions s
cross join jsonb_array_elements(s.taken) t(one)
where s.sanction_id in (select unnest($1::text[]));

-- name: void_matches
update matches set voided = true where match_id in (select unnest($1::text[]));

-- name: add_waiting_voids
insert into waiting_voids (match_id) select * from unnest($1::text[]) order by 1;

-- name: end_waiting_voids
delete from waiting_voids where match_id in (select unnest($1::text[]));

-- name: lift_sanctions
update sanctions s
set lifted_at = b.lifted_at, lifted_why = b.why, lifted_by = b.decided_by
from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[]) b(sanction_id, lifted_at, why, decided_by)
where s.sanction_id = b.sanction_id;

-- name: add_notices
-- Each once, whoever finds it first.
insert into notices (kind, key, subject, body, occurred_at, origin)
select kind, key, subject, body::jsonb, occurred_at, origin
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
    b(kind, key, subject, body, occurred_at, origin)
order by kind, key
on conflict (kind, key) do nothing
returning kind, key;

-- name: tournaments
-- What is known of tournaments, a row for each player that one refused (and one for a tournament that refused none).
select t.tournament_id, t.pool, t.closed_at, e.player_id, e.refused
from tournaments t
left join entries e on e.tournament_id = t.tournament_id and e.refused is not null
where t.tournament_id in (select unnest($1::text[]));

-- name: best_ratings
-- The best rating of a time, the one that it began with included, of the players who moved in it.
select r.player_id, greatest(max(l.before), max(l.after))
from pools p
join ratings r using (pool_id)
join ledger l using (rating_id)
where p.name = $1 and r.player_id in (select unnest($2::text[])) and l.occurred_at between $3 and $4
group by r.player_id;

-- name: keep_tournament
insert into tournaments (tournament_id, pool, opened_at, closed_at, finished_at, standings)
values ($1, $2, $3, $4, $5, $6)
on conflict (tournament_id) do update
set opened_at = coalesce(excluded.opened_at, tournaments.opened_at),
    closed_at = coalesce(excluded.closed_at, tournaments.closed_at),
    finished_at = coalesce(excluded.finished_at, tournaments.finished_at),
    standings = coalesce(excluded.standings, tournaments.standings);
