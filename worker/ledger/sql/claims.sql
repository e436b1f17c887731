-- Who holds which partition (design, decision 4): see worker/ledger/claims.py.

-- name: add_claims
insert into partition_claims (consumer_group, topic, partition)
select $1, topic, partition from unnest($2::text[], $3::integer[]) b(topic, partition)
order by topic, partition
on conflict do nothing;

-- name: lock_claims
select c.topic, c.partition, c.owner
from partition_claims c
join unnest($2::text[], $3::integer[]) b(topic, partition) using (topic, partition)
where c.consumer_group = $1
order by c.topic, c.partition
for update of c;

-- name: take_claims
update partition_claims c
set owner = $4, claimed_at = now()
from unnest($2::text[], $3::integer[]) b(topic, partition)
where c.consumer_group = $1 and c.topic = b.topic and c.partition = b.partition and c.owner is distinct from $4;

-- name: release_claims
update partition_claims set owner = null where consumer_group = $1 and owner = $2;

-- name: hold_claims
-- Which of the batch's partitions are still ours; held until the commit, so that nobody takes one in between.
select c.topic, c.partition
from partition_claims c
join unnest($3::text[], $4::integer[]) b(topic, partition) using (topic, partition)
where c.consumer_group = $1 and c.owner = $2
order by c.topic, c.partition
for share of c;
