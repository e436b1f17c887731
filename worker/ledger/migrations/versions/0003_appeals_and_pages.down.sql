drop index notices_flags_other;
drop index notices_flags;

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
    r.rating_id
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

drop index ratings_leaderboard;
create index ratings_leaderboard on ratings (pool_id, rating desc, rating_id)
    where not provisional and not inactive and requalify = 0;

alter table sanctions drop column taken;
