-- Housekeeping's rounds: who leads, which round was the last, and what each task reads.

-- name: lead
-- Take or keep the lead: it is free, ours, or its holder has not been heard of for as long as the lease says.
select owner is null or owner = $3 or claimed_at < now() - make_interval(secs => $4) as ours
from partition_claims
where consumer_group = $1 and topic = $2 and partition = 0;

-- name: renew
update partition_claims set claimed_at = now() where consumer_group = $1 and owner = $2;

-- name: rounds_after
select round, task, changes, notices from rounds where consumer_group = $1 and round > $2 order by round;

-- name: last_round
select coalesce(max(round), 0) from rounds where consumer_group = $1;

-- name: add_round
insert into rounds (consumer_group, round, task, changes, notices) values ($1, $2, $3, $4, $5);

-- name: forget_rounds
-- The last one stays: it is what the offset is compared with.
delete from rounds where consumer_group = $1 and round < $2;

-- name: position
select position from progress where consumer_group = $1 and task = $2;

-- name: set_position
insert into progress (consumer_group, task, position) values ($1, $2, $3)
on conflict (consumer_group, task) do update set position = excluded.position;

-- name: notices_by_key
select kind, key, subject, body, occurred_at, origin from notices n
join unnest($1::text[], $2::text[]) b(kind, key) using (kind, key)
order by notice_id;

-- name: known_notices
select key from notices where kind = $1 and key in (select unnest($2::text[]));

-- name: last_rating
select coalesce(max(rating_id), 0) from ratings;

-- name: lock_absent
-- Of a stretch of players the first who may owe something for their absence, locked.
select r.rating_id, p.name as pool, r.player_id, r.rating, r.version, r.games, r.wins, r.draws, r.losses, r.peak,
       r.last_played_at, r.idle_steps, r.inactive, r.requalify, r.boost, r.restarted
from ratings r
join pools p using (pool_id)
where r.rating_id > $1 and r.rating_id <= $2 and r.version > 0 and r.last_played_at <= $3 and p.name = any($4::text[])
order by r.rating_id
limit $5
for no key update of r;

-- name: pool_names
select name from pools;

-- name: settled_entry
-- The last entry of a stretch that is old enough for no older one to be still on its way.
select max(entry_id) from ledger where entry_id > $1 and entry_id <= $2 and recorded_at <= $3;

-- name: later_entry
select exists (select from ledger where entry_id > $1 and recorded_at <= $2);

-- name: players_of_stretch
select distinct rating_id from ledger where entry_id > $1 and entry_id <= $2 and reason = 'match' order by rating_id;

-- name: latest_games
-- The latest games of these players, with those that were voided since.
select p.name as pool, r.player_id, o.player_id as opponent_id, l.match_id, l.reason, l.score, l.delta, l.before,
       l.opponent_before, l.occurred_at, l.games
from unnest($1::bigint[]) b(rating_id)
join ratings r using (rating_id)
join pools p using (pool_id)
cross join lateral (
    select * from ledger e
    where e.rating_id = b.rating_id and e.version > r.version - $2
) l
join ratings o on o.rating_id = l.opponent_rating_id
where l.reason in ('match', 'void')
order by p.name, r.player_id, l.occurred_at, l.version;
