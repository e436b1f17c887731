-- What those who answer for rules and players read: policies, sanctions, signals of manipulation.

-- name: registered_policies
select name, version, digest, body, registered_at from policies order by name, version;
