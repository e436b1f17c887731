-- The ledger as it starts. Short keys (smallint, bigint) stand for topics, policies, pools and players, since every
-- match repeats them. The bulk tables (matches, ledger) carry no foreign keys: one transaction writes a match, its
-- entries and both ratings, and checking each row again would cost the hot path a lookup a key.

-- Topics that matches came from.
create table sources (
    source_id smallint generated always as identity primary key,
    topic text not null unique
);

-- Every policy version that ever rated a match, whole, so that a ledger row can be explained and published again
-- without the file that it came from.
create table policies (
    policy_id smallint generated always as identity primary key,
    name text not null,
    version integer not null,
    digest text not null,
    body jsonb not null,
    registered_at timestamptz not null default now(),
    unique (name, version)
);

create table pools (
    pool_id integer generated always as identity primary key,
    name text not null unique
);

-- Where each player of each pool stands. Derived: the ledger gives it again (see `rating-worker verify`).
-- fillfactor leaves room on the page, so that an update need not always find a new one.
create table ratings (
    rating_id bigint generated always as identity primary key,
    pool_id integer not null references pools,
    player_id text not null,
    rating double precision not null,
    version integer not null,
    games integer not null,
    wins integer not null,
    draws integer not null,
    losses integer not null,
    peak double precision not null,
    provisional boolean not null,
    title text not null,
    last_played_at timestamptz,
    unique (pool_id, player_id)
) with (fillfactor = 80);

-- Serves the leaderboard page by page; those who are not on it are not in it.
create index ratings_leaderboard on ratings (pool_id, rating desc, rating_id) where not provisional;

-- Every match that was taken from the stream, once, rated or not. The source coordinates and the digest tell a
-- redelivery from a resend from a conflict. `lo` and `hi` are the two players by player id.
create table matches (
    match_id text primary key,
    source_id smallint not null,
    source_partition integer not null,
    source_offset bigint not null,
    digest bytea not null,
    lo_rating_id bigint not null,
    hi_rating_id bigint not null,
    lo_version integer,  -- the chain version that the match gave the player; null where the match is not rated
    hi_version integer,
    lo_score real not null,
    finished_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    match_type text not null,
    tournament_id text,
    verified boolean not null,
    attributes jsonb,  -- what a K rule needs and a policy may ask for, such as {"lo_birth_year": 2009}
    unrated_reason text,
    check ((lo_version is null) = (hi_version is null)),
    check ((lo_version is null) = (unrated_reason is not null))
);

-- The rated matches of a pair by time: what repeat-pair decay counts.
create index matches_pair on matches (lo_rating_id, hi_rating_id, finished_at) where lo_version is not null;

-- Every change of a rating, in the order of recording (entry_id), with every number that led to it. Never edited.
create table ledger (
    entry_id bigint generated always as identity,
    rating_id bigint not null,
    version integer not null,
    opponent_rating_id bigint not null,
    match_id text not null,
    reason text not null,
    before double precision not null,
    after double precision not null,
    delta double precision not null,
    expected double precision,
    score real,
    k double precision,
    k_rule text,
    weight double precision not null,
    factors jsonb,   -- [[name, value, why], ...]: those that are not 1
    adjusted jsonb,  -- ["gap-cap", "rounding", "floor"]: what bent the formula
    games integer not null,
    policy_id smallint not null,
    occurred_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    primary key (rating_id, version)
);

-- Reading in recorded order (rebuild, verify) without an index that grows with the ledger.
create index ledger_entry on ledger using brin (entry_id);

-- Who holds which partition: the transactional id of the worker that may commit what it read from it.
create table partition_claims (
    consumer_group text not null,
    topic text not null,
    partition integer not null,
    owner text,
    claimed_at timestamptz not null default now(),
    primary key (consumer_group, topic, partition)
);

-- The public record. Rating as people see it: whole points, half away from zero.
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

create view match_history as
select
    p.name as pool,
    r.player_id,
    o.player_id as opponent_id,
    l.version,
    l.match_id,
    l.reason,
    l.score,
    l.before,
    l.after,
    l.delta,
    l.expected,
    l.k,
    l.k_rule,
    l.weight,
    l.factors,
    l.occurred_at,
    l.recorded_at
from ledger l
join ratings r using (rating_id)
join pools p using (pool_id)
join ratings o on o.rating_id = l.opponent_rating_id;
