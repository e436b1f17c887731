-- Rows that look as if the worker had written them, :ratings of them in ratings and :ledger in the ledger.
-- Player n is in pool n mod 3, under the id that stream.py gives; the ledger's rows go round the players.

insert into ratings (rating_id, pool_id, player_id, rating, version, games, wins, draws, losses, peak, provisional, title,
                     last_played_at)
overriding system value
select n + 1, p.pool_id, 'player-' || lpad(n::text, 9, '0'), 1100 + n % 900,
       :ledger / :ratings + (n < :ledger % :ratings)::integer, 40, 18, 4, 18, 2000, false, 'Third Grade',
       now() - interval '60 days' + n % 2000000 * interval '1 second'
from generate_series(0, :ratings - 1) n
join (select pool_id, row_number() over (order by pool_id) - 1 as place from pools) p on p.place = n % 3;

select setval(pg_get_serial_sequence('ratings', 'rating_id'), :ratings + 1);

-- A match has two ledger rows; those of match m belong to the players 2m and 2m + 1, whose versions count the rounds.
insert into matches (match_id, source_id, source_partition, source_offset, digest, lo_rating_id, hi_rating_id, lo_version,
                     hi_version, lo_score, finished_at, match_type, verified)
select gen_random_uuid()::text, 1, m % 12, m / 12, '\x00112233445566778899aabbccddeeff',
       2 * m % :ratings + 1, (2 * m + 1) % :ratings + 1, 2 * m / :ratings + 1, (2 * m + 1) / :ratings + 1, 1,
       now() - interval '60 days' + m % 2000000 * interval '1 second', 'ranked', true
from generate_series(0::bigint, :ledger / 2 - 1) m;

insert into ledger (rating_id, version, opponent_rating_id, match_id, reason, before, after, delta, expected, score, k,
                    k_rule, weight, games, policy_id, occurred_at)
select e.player + 1, e.version, e.other + 1, m.match_id, 'match', 1500.5, 1516.25, 15.75, 0.5078125, 1, 32,
       'established', 1, 40, 1, m.finished_at
from matches m
cross join lateral (values (m.lo_rating_id - 1, m.lo_version, m.hi_rating_id - 1),
                           (m.hi_rating_id - 1, m.hi_version, m.lo_rating_id - 1)) e(player, version, other);
