-- Three roles for the rating worker, each with as little as it needs. Run it once in the worker's database, as a
-- superuser or as who may create roles and owns the database; a second time changes nothing. Then:
--
--     RATING_DATABASE_URL=postgresql://rating_owner@…  rating-worker migrate \
--         --grant-worker rating_worker --grant-reader rating_reader
--
-- with every new version of the worker: it moves the tables, and gives the other two exactly what that version needs.
-- Passwords are set apart (`\password rating_worker`), or logins go by certificates. For tables that another role made,
-- run `reassign owned by that_role to rating_owner` first.

do $$
declare
    role text;
begin
    foreach role in array array['rating_owner', 'rating_worker', 'rating_reader'] loop
        if not exists (select from pg_roles where rolname = role) then
            execute format('create role %I login', role);
        end if;
    end loop;

    -- Owns the tables: for migrations alone, and for nothing that runs all day. As owner of the database it may create
    -- tables in the schema `public`, which since PostgreSQL 15 nobody else may.
    execute format('alter database %I owner to rating_owner', current_database());
    revoke create on schema public from public;

    -- Nobody else comes in, and only the owner may make even a temporary table.
    execute format('revoke all on database %I from public', current_database());
    execute format('grant connect on database %I to rating_worker, rating_reader', current_database());
end
$$;

-- Looks only; a statement of a dashboard that would take longer than this is cut off.
alter role rating_reader set default_transaction_read_only = on;
alter role rating_reader set statement_timeout = '30s';
