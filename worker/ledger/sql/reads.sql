-- What people and pages read. No statement here scans: each goes by a key, and takes a page at
-- most, or what there is of one player.

-- name: pools
select name from pools order by name;

-- name: pool_id
select pool_id from pools where name = $1;

-- name: leaderboard_page
-- The page after a place in the order (rating desc, rating_id desc). It goes straight down ratings_leaderboard: the pool's
-- id must come in as a value, not by a join with its name, or Postgres sorts the whole pool. Who is on it is what the
-- view `leaderboard` says.
select r.rating_id, r.player_id, r.rating, r.title, r.games, r.wins, r.draws, r.losses, r.last_played_at, r.version,
       r.peak, r.provisional, r.inactive, r.requalify
from ratings r
where not r.provisional and not r.inactive and r.requalify = 0
  and r.pool_id = $1 and (r.rating, r.rating_id) < ($2::double precision, $3::bigint)
  and not exists (
      select from sanctions s
      where s.player_id = r.player_id
        and s.kind = 'suspension'
        and (s.pool is null or s.pool = $4)
        and s.starts_at <= now()
        and (s.ends_at is null or s.ends_at > now())
        and (s.lifted_at is null or s.lifted_at > now())
  )
order by r.rating desc, r.rating_id desc
limit $5;

-- name: standings
-- Where a player stands, in every pool or in one. Pools are few, and each costs one look into the index.
select p.name as pool, s.*
from pools p
cross join lateral (
    select r.rating_id, r.player_id, r.rating, r.title, r.games, r.wins, r.draws, r.losses, r.last_played_at, r.version,
           r.peak, r.provisional, r.inactive, r.requalify
    from ratings r
    where r.pool_id = p.pool_id and r.player_id = $1
    offset 0  -- keeps this a look-up a pool
) s
where $2::text is null or p.name = $2
order by p.name;

-- name: history_page
-- A player's changes before a version, newest first.
select l.version, l.match_id, l.reason, l.before, l.after, l.delta, l.score, l.weight, l.factors, l.occurred_at,
       o.player_id as opponent_id
from ledger l
left join ratings o on o.rating_id = l.opponent_rating_id  -- not every change comes from a match
where l.rating_id = $1 and l.version < $2
order by l.version desc
limit $3;

-- name: match
select m.match_id, p.name as pool, s.topic, m.source_partition, m.source_offset, m.finished_at, m.recorded_at,
       m.match_type, m.tournament_id, m.verified, m.attributes, m.unrated_reason, m.unrated_player, m.lo_score,
       m.lo_rating_id, lo.player_id as lo_player_id, m.lo_version, m.lo_steps,
       m.hi_rating_id, hi.player_id as hi_player_id, m.hi_version, m.hi_steps,
       m.voided, v.body as void
from matches m
join sources s using (source_id)
join ratings lo on lo.rating_id = m.lo_rating_id
join ratings hi on hi.rating_id = m.hi_rating_id
join pools p on p.pool_id = lo.pool_id
left join events v on v.event_id = 'void:' || m.match_id
where m.match_id = $1;

-- name: changes_of_match
-- What a match did to a player: the steps of inactivity that came due right before it, its own change, a second where a
-- floor restarted them, and what a void took back, which may come any time later.
select l.version, l.reason, l.before, l.after, l.delta, l.expected, l.score, l.k, l.k_rule, l.weight, l.factors,
       l.adjusted, l.games, l.occurred_at, l.cause, l.opponent_before,
       y.name as policy_name, y.version as policy_version, y.digest as policy_digest, y.body as policy_body
from ledger l
join policies y using (policy_id)
where l.rating_id = $1
  and l.version between $2::integer - $3::integer and case when $5 then 2147483647 else $2 + 1 end
  and (l.version < $2 or l.match_id = $4)
order by l.version;

-- name: peak_before
-- The highest rating that counted before a version. What a void gives back was never played for, and a reset starts anew
-- unless it was lifted by then.
select max(case l.reason when 'match' then greatest(l.before, l.after) when 'floor' then l.after
                         when 'reset' then l.after when 'lift' then l.after end)
from ledger l
where l.rating_id = $1 and l.version < $2
  and l.version >= coalesce(
      (select max(r.version) from ledger r
       where r.rating_id = $1 and r.version < $2 and r.reason = 'reset'
         and not exists (select from ledger x
                         where x.rating_id = $1 and x.version < $2 and x.reason = 'lift' and x.cause = r.cause)), 0
  );

-- name: earlier_pair_games
-- How many rated matches of a pair counted in the window before a match when it was rated. A match that came late, and
-- was rated after this one, has a higher version in the chain of either player; one that was voided counted until then.
select count(*)
from matches m
where m.lo_rating_id = $1 and m.hi_rating_id = $2 and m.finished_at > $3 and m.finished_at <= $4
  and m.lo_version is not null and m.lo_version < $5
  and not (m.voided and exists (
      select from ledger v
      where v.rating_id = $1 and v.version < $5 and v.match_id = m.match_id and v.reason = 'void'
  ));

-- name: policies
select name, version, digest, registered_at from policies order by name, version;

-- name: outcomes
-- What became of given matches, by the reason where they were not rated.
select coalesce(unrated_reason, '') as unrated_reason, count(*) as matches
from matches
where match_id in (select unnest($1::text[]))
group by 1;
