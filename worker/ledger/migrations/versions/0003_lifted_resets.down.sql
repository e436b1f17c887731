alter table sanctions drop column taken;
