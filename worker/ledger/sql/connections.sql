-- What the worker asks about its own connections: see worker/ledger/acquiring.py.

-- name: end_abandoned
-- Transactions of workers that locked or wrote something and are older than any batch may be. Those of our own role
-- alone, so it takes no right. First found, then ended: in one step the planner might end what it has not looked at.
with abandoned as materialized (
    select pid, application_name, extract(epoch from now() - xact_start)::integer as age_s
    from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
        and application_name like 'rating-worker %' and backend_xid is not null
        and wait_event_type = 'Client' and state_change < now() - make_interval(secs => $1::double precision)
)
select application_name, age_s from abandoned where pg_terminate_backend(pid);

-- name: takes_writes
select current_setting('transaction_read_only') = 'off';
