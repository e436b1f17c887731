-- The small tables that give short keys to topics, pools and policies.

-- name: add_source
insert into sources (topic) values ($1) on conflict (topic) do nothing;

-- name: source_id
select source_id from sources where topic = $1;

-- name: add_pool
insert into pools (name) values ($1) on conflict (name) do nothing;

-- name: pool_id
select pool_id from pools where name = $1;

-- name: add_policy
insert into policies (name, version, digest, body) values ($1, $2, $3, $4) on conflict (name, version) do nothing;

-- name: policies
select policy_id, name, version, digest, body from policies order by policy_id;
