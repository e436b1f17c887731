-- What the worker's page asks beside what reads.sql has. Each goes down an index and takes a bounded number of rows.

-- name: some_pools
select name from pools order by name limit $1;

-- name: trace
-- A player's ratings before a version, newest first, without what a plot does not show.
select version, reason, after, occurred_at, match_id
from ledger
where rating_id = $1 and version < $2
order by version desc
limit $3;
