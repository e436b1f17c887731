-- What those who answer for rules and players read: policies, sanctions, signals of manipulation.

-- name: registered_policies
select name, version, digest, body, registered_at from policies order by name, version;

-- name: flags
-- Signals that were published about a player ($1), or that name them as the other one, newest first.
select n.key, n.body, n.occurred_at, n.recorded_at, r.rating_id
from (
    (select notice_id, key, body, occurred_at, recorded_at
     from notices
     where kind = 'integrity-flagged' and body ->> 'player_id' = $1
       and ($2::text is null or body ->> 'pool' = $2) and ($3::text is null or body ->> 'signal' = $3)
     order by notice_id desc
     limit $4)
    union all
    (select notice_id, key, body, occurred_at, recorded_at
     from notices
     where kind = 'integrity-flagged' and body ->> 'opponent_id' = $1
       and ($2::text is null or body ->> 'pool' = $2) and ($3::text is null or body ->> 'signal' = $3)
     order by notice_id desc
     limit $4)
) n
join pools p on p.name = n.body ->> 'pool'
join ratings r on r.pool_id = p.pool_id and r.player_id = n.body ->> 'player_id'
order by n.notice_id desc
limit $4;

-- name: published
select key, recorded_at from notices where kind = $1 and key in (select unnest($2::text[]));

-- name: version_now
select version from ratings where rating_id = $1;

-- name: version_at
-- The last change of a player that was recorded by a time, found by halving: versions have no gap, and follow the order
-- of recording, but for transactions that overlapped: then a few entries more or less are taken for recorded by then. A
-- look into the index a step, so a long history costs no more than a few looks.
with recursive search(low, high) as (
    select 0, r.version from ratings r where r.rating_id = $1
    union all
    select case when e.recorded_at <= $2 then e.version else s.low end,
           case when e.recorded_at <= $2 then s.high else e.version - 1 end
    from search s
    cross join lateral (
        select l.version, l.recorded_at from ledger l
        where l.rating_id = $1 and l.version = (s.low + s.high + 1) / 2
        limit 1  -- keeps this a look-up by the whole key
    ) e
    where s.low < s.high
)
select max(low) from search;

-- name: games_up_to
-- The games among the latest changes of a player up to a version, and the voids of games among them.
select l.match_id, l.reason, o.player_id as opponent_id, l.score, l.delta, l.before, l.opponent_before, l.occurred_at,
       l.games, m.voided
from ledger l
join ratings o on o.rating_id = l.opponent_rating_id
join matches m using (match_id)
where l.rating_id = $1 and l.version > $2::integer - $3::integer and l.version <= $2 and l.reason in ('match', 'void')
order by l.occurred_at, l.version;

-- name: sanctions_of
-- Every sanction of a player, the latest start first.
select sanction_id, player_id, kind, starts_at, ends_at, pool, why, decided_by, lifted_at, lifted_why, lifted_by, recorded_at
from sanctions
where player_id = $1
order by starts_at desc, recorded_at desc, sanction_id;

-- name: changes_of_sanctions
-- What resets took and what their lifts gave back, in the order of recording.
select b.sanction_id, p.name as pool, l.reason, l.before, l.after, l.delta, l.occurred_at
from unnest($1::text[]) b(sanction_id)
join events e on e.event_id in ('sanction:' || b.sanction_id, 'lift:' || b.sanction_id)
cross join lateral jsonb_array_elements(e.changes) c(entry)
join ledger l on l.rating_id = (c.entry ->> 0)::bigint and l.version = (c.entry ->> 1)::integer
join ratings r using (rating_id)
join pools p using (pool_id)
where l.reason in ('reset', 'lift')
order by l.entry_id;
