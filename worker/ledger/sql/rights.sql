-- What each kind of role may do with each table, view and sequence, and nothing else. A test knows every table.

-- name: needed
-- $1 names the role, $2 its kind: `worker` for workers, `reader` for dashboards and the commands that look.
with needed (relation, worker, reader) as (values
    ('alembic_version', 'select', 'select'),
    ('entries', 'select insert update', 'select'),
    ('events', 'select insert', 'select'),
    ('leaderboard', '', 'select'),
    ('ledger', 'select insert', 'select'),
    ('match_history', '', 'select'),
    ('matches', 'select insert update', 'select'),
    ('notices', 'select insert', 'select'),
    ('partition_claims', 'select insert update', ''),
    ('policies', 'select insert', 'select'),
    ('pools', 'select insert', 'select'),
    ('progress', 'select insert update', ''),
    ('ratings', 'select insert update', 'select'),
    ('ratings_rating_id_seq', 'usage', ''),
    ('rounds', 'select insert delete', ''),
    ('sanctions', 'select insert update', 'select'),
    ('sources', 'select insert', 'select'),
    ('tournaments', 'select insert update', 'select'),
    ('waiting_voids', 'select insert delete', 'select')
)
select
    n.relation,
    n.privileges,
    array(
        select privilege
        from unnest(n.privileges) with ordinality p(privilege, place)
        where not case n.kind when 'sequence' then has_sequence_privilege($1::text, n.relation, privilege)
                              else has_table_privilege($1::text, n.relation, privilege) end
        order by place
    ) as lacking,
    format('revoke all on %s %I from %I', n.kind, n.relation, $1::text) as taking,
    format('grant %s on %s %I to %I', array_to_string(n.privileges, ', '), n.kind, n.relation, $1::text) as giving
from (
    select
        relation,
        string_to_array(case $2::text when 'worker' then worker else reader end, ' ') as privileges,
        case c.relkind when 'S' then 'sequence' else 'table' end as kind
    from needed
    join pg_class c on c.oid = to_regclass(relation)  -- an older schema has fewer
) n
order by n.relation;

-- name: schema_usage
-- The statement that lets a role into the schema, where it may not go by itself; in `public` everybody may.
select format('grant usage on schema %I to %I', current_schema(), $1::text)
where not has_schema_privilege($1::text, current_schema(), 'usage');
