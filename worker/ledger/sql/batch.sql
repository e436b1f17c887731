-- What the batch transaction says to Postgres, in the order in which it says it.
-- Every statement is for the whole batch; none is for one match.

-- name: known_matches
-- Those of the batch's matches that are recorded already.
select m.match_id, s.topic, m.source_partition, m.source_offset, m.digest
from unnest($1::text[]) b(match_id)
join matches m using (match_id)
join sources s using (source_id);

-- name: lock_ratings
-- The batch's players, locked in one global order (rating_id), so that two workers never deadlock. NO KEY UPDATE:
-- nothing else of the row is to wait. The sort comes below the locking step of the plan, so this order holds.
select r.rating_id, r.pool_id, r.player_id, r.rating, r.version, r.games, r.wins, r.draws, r.losses, r.peak,
       r.last_played_at, r.idle_steps, r.inactive, r.requalify, r.boost, r.restarted
from ratings r
join unnest($1::integer[], $2::text[]) b(pool_id, player_id) using (pool_id, player_id)
order by r.rating_id
for no key update of r;

-- name: lock_newcomers
-- Those of the batch's players whom the statement before did not find, because another worker recorded them while it
-- waited for the others: what a statement finds is what was there when it began. Nobody is waited for here, since these
-- come out of the global order; who is locked counts as not found, and the batch is tried again.
select r.rating_id, r.pool_id, r.player_id, r.rating, r.version, r.games, r.wins, r.draws, r.losses, r.peak,
       r.last_played_at, r.idle_steps, r.inactive, r.requalify, r.boost, r.restarted
from ratings r
join unnest($1::integer[], $2::text[]) b(pool_id, player_id) using (pool_id, player_id)
for no key update of r skip locked;

-- name: new_rating_ids
select nextval(pg_get_serial_sequence('ratings', 'rating_id')) from generate_series(1, $1::integer);

-- name: pair_times
-- When the pairs' rated matches finished that were not voided since, as far as the windows of this batch reach.
select b.pair::integer as pair, m.finished_at
from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[])
    with ordinality b(lo, hi, since, until, pair)
join matches m on m.lo_rating_id = b.lo and m.hi_rating_id = b.hi
    and m.finished_at > b.since and m.finished_at <= b.until and m.lo_version is not null and not m.voided;

-- name: insert_ratings
-- Players who are new to their pool. Another worker may have been first: then fewer rows come than were sent.
insert into ratings (rating_id, pool_id, player_id, rating, version, games, wins, draws, losses, peak,
                     provisional, title, last_played_at, restarted, idle_steps, inactive, requalify, boost)
overriding system value
select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::double precision[], $5::integer[], $6::integer[],
                     $7::integer[], $8::integer[], $9::integer[], $10::double precision[], $11::boolean[],
                     $12::text[], $13::timestamptz[], $14::integer[], $15::integer[], $16::boolean[],
                     $17::smallint[], $18::smallint[])
on conflict (pool_id, player_id) do nothing;

-- name: update_ratings
-- Of players whom no absence marks any more: nearly all, and each array less is less for the worker to encode.
update ratings r
set rating = b.rating, version = b.version, games = b.games, wins = b.wins, draws = b.draws, losses = b.losses,
    peak = b.peak, provisional = b.provisional, title = b.title, last_played_at = b.last_played_at,
    restarted = b.restarted, idle_steps = 0, inactive = false, requalify = 0, boost = 0
from unnest($1::bigint[], $2::double precision[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],
            $7::integer[], $8::double precision[], $9::boolean[], $10::text[], $11::timestamptz[], $12::integer[])
    b(rating_id, rating, version, games, wins, draws, losses, peak, provisional, title, last_played_at, restarted)
where r.rating_id = b.rating_id;

-- name: update_marked_ratings
update ratings r
set rating = b.rating, version = b.version, games = b.games, wins = b.wins, draws = b.draws, losses = b.losses,
    peak = b.peak, provisional = b.provisional, title = b.title, last_played_at = b.last_played_at,
    restarted = b.restarted, idle_steps = b.idle_steps, inactive = b.inactive, requalify = b.requalify, boost = b.boost
from unnest($1::bigint[], $2::double precision[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],
            $7::integer[], $8::double precision[], $9::boolean[], $10::text[], $11::timestamptz[], $12::integer[],
            $13::integer[], $14::boolean[], $15::smallint[], $16::smallint[])
    b(rating_id, rating, version, games, wins, draws, losses, peak, provisional, title, last_played_at, restarted,
      idle_steps, inactive, requalify, boost)
where r.rating_id = b.rating_id;

-- name: changes_of_matches
-- The changes that the matches gave, as they were recorded: for publishing again, and for explaining.
select p.name as pool, r.player_id, o.player_id as opponent_id, m.match_id as of_match, l.*
from matches m
join ledger l on l.rating_id in (m.lo_rating_id, m.hi_rating_id)
    -- A match gives a player one change, a second where a floor restarts, and before it the inactivity that was owed.
    and l.version between case l.rating_id when m.lo_rating_id then m.lo_version - m.lo_steps
                                           else m.hi_version - m.hi_steps end
                      and case l.rating_id when m.lo_rating_id then m.lo_version else m.hi_version end + 1
    and (l.match_id = m.match_id and l.reason <> 'void'
         or l.version < case l.rating_id when m.lo_rating_id then m.lo_version else m.hi_version end)
join ratings r on r.rating_id = l.rating_id
left join ratings o on o.rating_id = l.opponent_rating_id
join pools p on p.pool_id = r.pool_id
where m.match_id in (select unnest($1::text[]))
order by l.entry_id;
