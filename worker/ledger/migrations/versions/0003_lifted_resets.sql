-- What a reset took, so that its lift can give it back:
-- [[pool, version, delta, games before, peak before, restarted before], ...]; null where it took nothing.
alter table sanctions add column taken jsonb;
