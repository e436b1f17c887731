-- What people and pages read. No statement here scans: each goes by a key, and takes a page at most.

-- name: pools
select name from pools order by name;

-- name: pool_id
select pool_id from pools where name = $1;

-- name: leaderboard_page
-- The page after a place in the order (rating desc, rating_id). It goes straight down ratings_leaderboard: the pool's
-- id must come in as a value, not by a join with its name, or Postgres sorts the whole pool.
select r.rating_id, r.player_id, r.rating, r.title, r.games, r.wins, r.draws, r.losses, r.last_played_at, r.version,
       r.peak, r.provisional
from ratings r
where not r.provisional and r.pool_id = $1 and r.rating <= $2 and (r.rating < $2 or r.rating_id > $3)
order by r.rating desc, r.rating_id
limit $4;

-- name: standings
-- Where a player stands, in every pool or in one. Pools are few, and each costs one look into the index.
select p.name as pool, s.*
from pools p
cross join lateral (
    select r.rating_id, r.player_id, r.rating, r.title, r.games, r.wins, r.draws, r.losses, r.last_played_at, r.version,
           r.peak, r.provisional
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
       m.match_type, m.tournament_id, m.verified, m.attributes, m.unrated_reason, m.lo_score,
       m.lo_rating_id, lo.player_id as lo_player_id, m.lo_version,
       m.hi_rating_id, hi.player_id as hi_player_id, m.hi_version
from matches m
join sources s using (source_id)
join ratings lo on lo.rating_id = m.lo_rating_id
join ratings hi on hi.rating_id = m.hi_rating_id
join pools p on p.pool_id = lo.pool_id
where m.match_id = $1;

-- name: changes_of_match
-- The changes that a match gave a player: one, and a second where a floor restarted them.
select l.version, l.reason, l.before, l.after, l.delta, l.expected, l.score, l.k, l.k_rule, l.weight, l.factors,
       l.adjusted, l.games, l.occurred_at, l.recorded_at, l.entry_id,
       y.name as policy_name, y.version as policy_version, y.digest as policy_digest, y.body as policy_body
from ledger l
join policies y using (policy_id)
where l.rating_id = $1 and l.version between $2 and $2 + 1 and l.match_id = $3
order by l.version;

-- name: peak_before
-- The highest rating that a player's chain had held before a version.
select max(greatest(before, after)) from ledger where rating_id = $1 and version < $2;

-- name: earlier_pair_games
-- How many rated matches of a pair lay in the window before a match when it was rated. A match that came late, and was
-- rated after this one, has a higher version in the chain of either player.
select count(*)
from matches m
where m.lo_rating_id = $1 and m.hi_rating_id = $2 and m.finished_at > $3 and m.finished_at <= $4
    and m.lo_version is not null and m.lo_version < $5;

-- name: policies
select name, version, digest, registered_at from policies order by name, version;

-- name: missing_rights
-- What the worker needs and this role may not do.
select format('%s on %s', n.privilege, n.relation) as lacking
from (values
    ('select', 'alembic_version'),
    ('select', 'sources'), ('insert', 'sources'), ('select', 'pools'), ('insert', 'pools'),
    ('select', 'policies'), ('insert', 'policies'),
    ('select', 'ratings'), ('insert', 'ratings'), ('update', 'ratings'),
    ('select', 'matches'), ('insert', 'matches'), ('select', 'ledger'), ('insert', 'ledger'),
    ('select', 'partition_claims'), ('insert', 'partition_claims'), ('update', 'partition_claims')
) n(privilege, relation)
where not has_table_privilege(n.relation, n.privilege);

-- name: outcomes
-- What became of given matches, by the reason where they were not rated.
select coalesce(unrated_reason, '') as unrated_reason, count(*) as matches
from matches
where match_id = any($1::text[])
group by 1;
