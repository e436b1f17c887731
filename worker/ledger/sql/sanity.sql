-- Looking the ledger and the players over: samples of bounded cost, whatever the size of the tables.

-- name: broken
-- Of a stretch of the ledger, how many entries break what always holds, and whose they are. Three look-ups an entry.
with looked_at as (
    select
        s.rating_id,
        s.version > 1 and p.after is distinct from s.before as chain,
        s.before + s.delta <> s.after as sum,
        r.rating is distinct from l.after
            or exists (select from ledger n where n.rating_id = r.rating_id and n.version = r.version + 1) as standing
    from (select * from ledger where entry_id > $1 and entry_id <= $2) s
    left join ledger p on p.rating_id = s.rating_id and p.version = s.version - 1
    left join ratings r on r.rating_id = s.rating_id
    left join ledger l on l.rating_id = r.rating_id and l.version = r.version
)
select
    count(*) as entries,
    count(*) filter (where chain) as chain,
    count(*) filter (where sum) as sum,
    count(*) filter (where standing) as standing,
    (array_agg(distinct rating_id) filter (where chain or sum or standing))[1:3] as rating_ids
from looked_at;

-- name: players
select p.name as pool, r.player_id
from ratings r join pools p using (pool_id) where r.rating_id in (select unnest($1::bigint[]));

-- name: pages_of_ratings
select pg_relation_size('ratings') / current_setting('block_size')::bigint;

-- name: pool_figures
-- Of about $1 per cent of the pages of players. Those who are marked inactive, or never had a rated match, don't count.
select
    p.name as pool,
    count(*) as sampled,
    count(*) filter (where r.provisional) as provisional,
    avg(r.rating) filter (where not r.provisional) as mean,
    stddev_samp(r.rating) filter (where not r.provisional) as spread
from ratings r tablesample system ($1)
join pools p using (pool_id)
where r.version > 0 and not r.inactive
group by p.name;
