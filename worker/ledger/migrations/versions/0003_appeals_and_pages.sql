-- What a reset took, so that its lift can give it back:
-- [[pool, version, delta, games before, peak before, restarted before], ...]; null where it took nothing.
alter table sanctions add column taken jsonb;

-- Both ways down, so that a page can start within a tie: where a policy rounds, thousands stand at one rating.
drop index ratings_leaderboard;
create index ratings_leaderboard on ratings (pool_id, rating desc, rating_id desc)
    where not provisional and not inactive and requalify = 0;

-- With the pool's id: a page goes straight down the index where the id comes in as a value, and sorts the whole pool where
-- it comes by a join with the name.
drop view leaderboard;
create view leaderboard as
select
    p.name as pool,
    r.player_id,
    (sign(r.rating) * floor(abs(r.rating) + 0.5))::integer as display_rating,
    r.title,
    r.games,
    r.wins,
    r.draws,
    r.losses,
    r.last_played_at,
    r.rating,
    r.rating_id,
    r.pool_id
from ratings r
join pools p using (pool_id)
where not r.provisional
  and not r.inactive
  and r.requalify = 0
  and not exists (
      select from sanctions s
      where s.player_id = r.player_id
        and s.kind = 'suspension'
        and (s.pool is null or s.pool = p.name)
        and s.starts_at <= now()
        and (s.ends_at is null or s.ends_at > now())
        and (s.lifted_at is null or s.lifted_at > now())
  );

-- What was flagged of a player, on either side, for whoever looks at them.
create index notices_flags on notices ((body ->> 'player_id'), notice_id) where kind = 'integrity-flagged';
create index notices_flags_other on notices ((body ->> 'opponent_id'), notice_id) where kind = 'integrity-flagged';
