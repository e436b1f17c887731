-- Passwords of the roles that ../../roles.sql makes. No secrets: for compose.yaml, on this machine, and for nothing else.
alter role rating_owner password 'local-owner';
alter role rating_worker password 'local-worker';
alter role rating_reader password 'local-reader';
