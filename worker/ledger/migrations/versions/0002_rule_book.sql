-- Voids, sanctions, inactivity, tournaments and notices.

alter table ratings
    add column idle_steps integer not null default 0,  -- inactivity steps done since last_played_at
    add column inactive boolean not null default false,
    add column requalify smallint not null default 0,  -- rated games to play before the leaderboard opens again
    add column boost smallint not null default 0,      -- rated games to come with the activity multiplier
    add column restarted integer not null default 0;   -- the version of the last change that took the player to the start

drop view leaderboard;
drop index ratings_leaderboard;
create index ratings_leaderboard on ratings (pool_id, rating desc, rating_id)
    where not provisional and not inactive and requalify = 0;

alter table matches
    add column voided boolean not null default false,
    add column lo_steps smallint not null default 0,   -- inactivity entries that came right before the match's own
    add column hi_steps smallint not null default 0,
    add column unrated_player text;                    -- whom the reason is about, where it is one of the two
drop index matches_pair;
create index matches_pair on matches (lo_rating_id, hi_rating_id, finished_at) where lo_version is not null and not voided;

alter table ledger
    alter column opponent_rating_id drop not null,
    alter column match_id drop not null,
    add column cause text,                       -- the event behind a change that is no match: a sanction's id
    add column opponent_before double precision;

-- Every event that is no match, once, whole: like a match row it tells a redelivery from a resend, and it names the
-- changes that it made, so that they can be published again.
create table events (
    event_id text primary key,
    kind text not null,
    source_id smallint not null,
    source_partition integer not null,
    source_offset bigint not null,
    digest bytea not null,
    body jsonb not null,
    changes jsonb,   -- [[rating_id, version], ...], in the order in which they were made
    recorded_at timestamptz not null default now()
);

-- Voids whose match has not come yet.
create table waiting_voids (
    match_id text primary key,
    recorded_at timestamptz not null default now()
);

create table sanctions (
    sanction_id text primary key,
    player_id text not null,
    kind text not null,
    pool text,               -- null: every pool
    starts_at timestamptz not null,
    ends_at timestamptz,     -- null: until lifted
    why text not null,
    decided_by text not null,
    lifted_at timestamptz,
    lifted_why text,
    lifted_by text,
    recorded_at timestamptz not null default now()
);
create index sanctions_player on sanctions (player_id);

create table tournaments (
    tournament_id text primary key,
    pool text not null,
    opened_at timestamptz,
    closed_at timestamptz,
    finished_at timestamptz,
    standings jsonb
);

create table entries (
    tournament_id text not null references tournaments,
    player_id text not null,
    place integer,                 -- the seed; null for one who was refused
    seeding_rating double precision,
    rating double precision,
    best double precision,
    refused text,
    primary key (tournament_id, player_id),
    check ((place is null) = (refused is not null))
);

-- What was published on the notices topic, each once, by a key that its content gives.
create table notices (
    notice_id bigint generated always as identity primary key,
    kind text not null,
    key text not null,
    subject text not null,
    body jsonb not null,
    occurred_at timestamptz not null,
    origin text,  -- the event that gave it: published again when that is delivered again
    recorded_at timestamptz not null default now(),
    unique (kind, key)
);
create index notices_origin on notices (origin);

-- Housekeeping works in numbered rounds, one worker at a time. The number of the last round whose events are published is
-- a Kafka offset, committed with them; a round beyond it is published again (see worker/housekeeping).
create table rounds (
    consumer_group text not null,
    round bigint not null,
    task text not null,
    changes jsonb,
    notices jsonb,
    recorded_at timestamptz not null default now(),
    primary key (consumer_group, round)
);

-- How far each task of housekeeping has come.
create table progress (
    consumer_group text not null,
    task text not null,
    position jsonb not null,
    primary key (consumer_group, task)
);

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
