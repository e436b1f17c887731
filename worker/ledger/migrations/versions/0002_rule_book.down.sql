drop view leaderboard;
drop table progress;
drop table rounds;
drop table notices;
drop table entries;
drop table tournaments;
drop table sanctions;
drop table waiting_voids;
drop table events;

delete from ledger where match_id is null;
alter table ledger
    drop column cause,
    drop column opponent_before,
    alter column opponent_rating_id set not null,
    alter column match_id set not null;

drop index matches_pair;
alter table matches
    drop column voided,
    drop column lo_steps,
    drop column hi_steps,
    drop column unrated_player;
create index matches_pair on matches (lo_rating_id, hi_rating_id, finished_at) where lo_version is not null;

drop index ratings_leaderboard;
alter table ratings
    drop column idle_steps,
    drop column inactive,
    drop column requalify,
    drop column boost,
    drop column restarted;
create index ratings_leaderboard on ratings (pool_id, rating desc, rating_id) where not provisional;

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
where not r.provisional;
