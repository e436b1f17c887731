-- What a straightforward consumer keeps: the same facts as the worker, in the plainest tables.

create table players (
    pool text not null,
    player_id text not null,
    rating double precision not null,
    version integer not null default 0,
    games integer not null default 0,
    wins integer not null default 0,
    draws integer not null default 0,
    losses integer not null default 0,
    peak double precision not null,
    last_played_at timestamptz,
    primary key (pool, player_id)
);

create table matches (
    match_id text primary key,
    pool text not null,
    lo text not null,
    hi text not null,
    finished_at timestamptz not null,
    match_type text not null,
    rated boolean not null,
    recorded_at timestamptz not null default now()
);

create index matches_pair on matches (pool, lo, hi, finished_at) where rated;

create table changes (
    change_id bigint generated always as identity,
    pool text not null,
    player_id text not null,
    version integer not null,
    opponent_id text not null,
    match_id text not null,
    reason text not null,
    before double precision not null,
    after double precision not null,
    delta double precision not null,
    expected double precision,
    score double precision,
    k double precision,
    weight double precision not null,
    policy text not null,
    occurred_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    primary key (pool, player_id, version)
);
