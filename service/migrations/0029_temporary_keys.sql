-- Temporary keys do not count towards the keys of an app, and are deleted after they have expired.
alter table api_keys add column temporary boolean not null default false;
