-- A pool of :players players, an eighth of them provisional, an eighth inactive, one in 300 suspended; the others are on
-- the leaderboard. Ratings are spread like people's, the sum
-- of three draws around 1500, and rounded, so that thousands stand at one rating.

insert into pools (name) values ('chess/blitz'), ('yi');

insert into ratings (rating_id, pool_id, player_id, rating, version, games, wins, draws, losses, peak, provisional, title,
                     last_played_at, inactive)
overriding system value
select n, 1, 'player-' || lpad(n::text, 9, '0'), round(900 + 400 * (random() + random() + random())), 40, 40, 18, 4, 18, 2000,
       n % 8 = 1, 'Third Grade', now() - n % 5000000 * interval '1 second', n % 8 = 2
from generate_series(1, :players) n;

insert into sanctions (sanction_id, player_id, kind, pool, starts_at, ends_at, why, decided_by)
select 's-' || n, 'player-' || lpad(n::text, 9, '0'), 'suspension', case when n % 2 = 0 then 'chess/blitz' end,
       now() - interval '1 day', null, 'cheating', 'referee'
from generate_series(1, :players, 300) n;
