-- The small tables that give short keys to topics, pools and policies. A key is drawn only for what is new: a conflict
-- would draw one too, and each start of a worker would use some up.

-- name: add_source
insert into sources (topic) select $1 where not exists (select from sources where topic = $1)
on conflict (topic) do nothing;

-- name: source_id
select source_id from sources where topic = $1;

-- name: add_pool
insert into pools (name) select $1 where not exists (select from pools where name = $1)
on conflict (name) do nothing;

-- name: pool_id
select pool_id from pools where name = $1;

-- name: add_policy
insert into policies (name, version, digest, body)
select $1, $2, $3, $4 where not exists (select from policies where name = $1 and version = $2)
on conflict (name, version) do nothing;

-- name: policies
select policy_id, name, version, digest, body from policies order by policy_id;
