-- What the migrations amount to. Written by: npm run schema

table account_exports
  user_id uuid not null
  id uuid not null
  ends_at timestamp(3) with time zone not null
  account_exports_pkey: PRIMARY KEY (user_id)
  account_exports_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE

table accounts
  id uuid not null
  user_id uuid not null
  provider_id text not null
  account_id text not null
  password text
  access_token text
  refresh_token text
  id_token text
  access_token_expires_at timestamp(3) with time zone
  refresh_token_expires_at timestamp(3) with time zone
  scope text
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  accounts_check: CHECK (((provider_id = 'credential'::text) = (password IS NOT NULL)))
  accounts_check1: CHECK ((num_nonnulls(access_token, refresh_token, id_token) = 0))
  accounts_pkey: PRIMARY KEY (id)
  accounts_provider_id_account_id_key: UNIQUE (provider_id, account_id)
  accounts_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX accounts_by_user ON orgdir.accounts USING btree (user_id)

table address_changes
  user_id uuid not null
  email text collate C not null
  hash bytea not null
  expires_at timestamp(3) with time zone not null
  address_changes_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  address_changes_hash_check: CHECK ((length(hash) = 32))
  address_changes_hash_key: UNIQUE (hash)
  address_changes_pkey: PRIMARY KEY (user_id)
  address_changes_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX address_changes_by_end ON orgdir.address_changes USING btree (expires_at)

table alliance_managers
  alliance_id uuid not null
  email text collate C not null
  created_at timestamp(3) with time zone not null default now()
  alliance_managers_alliance_id_fkey: FOREIGN KEY (alliance_id) REFERENCES alliances(id) ON DELETE CASCADE
  alliance_managers_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  alliance_managers_pkey: PRIMARY KEY (alliance_id, email)
  CREATE INDEX alliance_managers_by_email ON orgdir.alliance_managers USING btree (email)
  CREATE TRIGGER audit_added AFTER INSERT ON orgdir.alliance_managers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_managers('alliance', 'alliance_id', 'alliances')
  CREATE TRIGGER audit_removed AFTER DELETE ON orgdir.alliance_managers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_managers('alliance', 'alliance_id', 'alliances')

table alliances
  id uuid not null
  slug text collate C not null
  name text not null
  tag text
  description text
  logo_url text
  banner_url text
  links jsonb not null default '{}'::jsonb
  recruiting boolean not null default false
  org_count integer not null default 0
  member_count bigint not null default 0
  status text not null default 'active'::text
  founded_at timestamp(3) with time zone
  name_sort text collate C not null
  search_text text collate C not null
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  aliases jsonb not null default '[]'::jsonb
  alliances_member_count_check: CHECK ((member_count >= 0))
  alliances_name_check: CHECK ((name <> ''::text))
  alliances_org_count_check: CHECK ((org_count >= 0))
  alliances_pkey: PRIMARY KEY (id)
  alliances_slug_check: CHECK (((slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text) AND ((length(slug) >= 1) AND (length(slug) <= 80))))
  alliances_slug_key: UNIQUE (slug)
  alliances_status_check: CHECK ((status = ANY (ARRAY['active'::text, 'disbanded'::text])))
  CREATE INDEX alliances_by_created ON orgdir.alliances USING btree (created_at, id)
  CREATE INDEX alliances_by_members ON orgdir.alliances USING btree (member_count, id)
  CREATE INDEX alliances_by_name ON orgdir.alliances USING btree (name_sort, id)
  CREATE INDEX alliances_by_updated ON orgdir.alliances USING btree (updated_at, id)
  CREATE TRIGGER count_deleted AFTER DELETE ON orgdir.alliances REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows_deleted()
  CREATE TRIGGER count_inserted AFTER INSERT ON orgdir.alliances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows_inserted()
  CREATE TRIGGER keep_former_slug AFTER UPDATE ON orgdir.alliances FOR EACH ROW WHEN ((old.slug <> new.slug)) EXECUTE FUNCTION keep_former_slug()
  CREATE TRIGGER keep_search_inserted AFTER INSERT ON orgdir.alliances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('true', 'member_count')
  CREATE TRIGGER keep_search_updated AFTER UPDATE ON orgdir.alliances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('true', 'member_count')
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.alliances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('directory')
  CREATE TRIGGER note_entries_deleted AFTER DELETE ON orgdir.alliances REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true')
  CREATE TRIGGER note_entries_inserted AFTER INSERT ON orgdir.alliances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true')
  CREATE TRIGGER note_entries_updated AFTER UPDATE ON orgdir.alliances REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true', 'alliance_differs')
  CREATE TRIGGER note_values_updated AFTER UPDATE ON orgdir.alliances REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_values_updated()
  CREATE TRIGGER touch BEFORE UPDATE ON orgdir.alliances FOR EACH ROW EXECUTE FUNCTION touch_alliance()

table announcements
  id uuid not null default uuid_v7()
  severity text not null
  text text not null
  starts_at timestamp(3) with time zone
  ends_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null default now()
  announcements_pkey: PRIMARY KEY (id)
  announcements_severity_check: CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text])))
  announcements_text_check: CHECK (((length(text) >= 1) AND (length(text) <= 500)))
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.announcements DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('system')

table api_keys
  id uuid not null
  app_id uuid
  name text not null
  hash bytea not null
  last4 text not null
  scopes text[] not null
  temporary boolean not null default false
  expires_at timestamp(3) with time zone
  revoked_at timestamp(3) with time zone
  last_used_at timestamp(3) with time zone
  used_on date
  uses bigint not null default 0
  created_at timestamp(3) with time zone not null default now()
  api_keys_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  api_keys_hash_check: CHECK ((length(hash) = 32))
  api_keys_hash_key: UNIQUE (hash)
  api_keys_last4_check: CHECK ((length(last4) = 4))
  api_keys_name_check: CHECK ((name <> ''::text))
  api_keys_pkey: PRIMARY KEY (id)
  api_keys_platform_check: CHECK ((((app_id IS NULL) = ('platform'::text = ANY (scopes))) AND ((app_id IS NOT NULL) OR (scopes = ARRAY['platform'::text]))))
  api_keys_scopes_check: CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['read:directory'::text, 'read:events'::text, 'write:webhooks'::text, 'platform'::text])))
  CREATE INDEX api_keys_by_app ON orgdir.api_keys USING btree (app_id, id)
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE OF scopes, expires_at, revoked_at, hash, app_id ON orgdir.api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('access')

table app_invitations
  id uuid not null
  app_id uuid not null
  email text collate C not null
  role text not null
  invited_by text collate C not null
  inviter_role text not null default 'owner'::text
  hash bytea not null
  expires_at timestamp(3) with time zone not null
  created_at timestamp(3) with time zone not null default now()
  app_invitations_app_id_email_key: UNIQUE (app_id, email)
  app_invitations_app_id_invited_by_inviter_role_fkey: FOREIGN KEY (app_id, invited_by, inviter_role) REFERENCES app_members(app_id, email, role) ON DELETE CASCADE
  app_invitations_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  app_invitations_hash_check: CHECK ((length(hash) = 32))
  app_invitations_hash_key: UNIQUE (hash)
  app_invitations_pkey: PRIMARY KEY (id)
  app_invitations_role_check: CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'viewer'::text])))
  CREATE INDEX app_invitations_by_email ON orgdir.app_invitations USING btree (email, app_id)
  CREATE INDEX app_invitations_by_end ON orgdir.app_invitations USING btree (expires_at)
  CREATE TRIGGER audit AFTER INSERT OR DELETE ON orgdir.app_invitations FOR EACH ROW EXECUTE FUNCTION audit_app_invitations()
  CREATE TRIGGER audit_resent AFTER UPDATE ON orgdir.app_invitations FOR EACH ROW WHEN ((old.hash <> new.hash)) EXECUTE FUNCTION audit_app_invitations()

table app_members
  id uuid not null default uuid_v7()
  app_id uuid not null
  email text collate C not null
  role text not null
  failure_mails boolean not null default true
  created_at timestamp(3) with time zone not null default now()
  app_members_app_id_email_key: UNIQUE (app_id, email)
  app_members_app_id_email_role_key: UNIQUE (app_id, email, role)
  app_members_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  app_members_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  app_members_pkey: PRIMARY KEY (id)
  app_members_role_check: CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'viewer'::text])))
  CREATE INDEX app_members_by_email ON orgdir.app_members USING btree (email, app_id)
  CREATE TRIGGER audit AFTER INSERT OR DELETE ON orgdir.app_members FOR EACH ROW EXECUTE FUNCTION audit_app_members()
  CREATE TRIGGER audit_role AFTER UPDATE ON orgdir.app_members FOR EACH ROW WHEN ((old.role <> new.role)) EXECUTE FUNCTION audit_app_members()
  CREATE TRIGGER end_what_depends_on_owner BEFORE UPDATE ON orgdir.app_members FOR EACH ROW WHEN (((old.role = 'owner'::text) AND (((old.app_id IS DISTINCT FROM new.app_id) OR (old.email IS DISTINCT FROM new.email)) OR (old.role IS DISTINCT FROM new.role)))) EXECUTE FUNCTION end_what_depends_on_owner()
  CREATE TRIGGER keep_an_owner AFTER DELETE OR UPDATE ON orgdir.app_members FOR EACH ROW WHEN ((old.role = 'owner'::text)) EXECUTE FUNCTION keep_an_owner()

table app_quotas
  app_id uuid not null
  quota text not null
  maximum integer not null
  app_quotas_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  app_quotas_maximum_check: CHECK ((maximum > 0))
  app_quotas_pkey: PRIMARY KEY (app_id, quota)
  app_quotas_quota_check: CHECK ((quota = ANY (ARRAY['rate'::text, 'webhooks'::text, 'keys'::text, 'members'::text])))
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.app_quotas DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('access')

table apps
  id uuid not null
  name text not null
  created_at timestamp(3) with time zone not null default now()
  apps_name_check: CHECK ((name <> ''::text))
  apps_pkey: PRIMARY KEY (id)
  CREATE TRIGGER drop_binding_versions AFTER DELETE ON orgdir.apps FOR EACH ROW EXECUTE FUNCTION drop_binding_versions()
  CREATE TRIGGER start_binding_versions AFTER INSERT ON orgdir.apps FOR EACH ROW EXECUTE FUNCTION start_binding_versions()

table attempts partition by RANGE (delivery_id)
  delivery_id uuid not null
  number integer not null
  trigger text not null
  started_at timestamp(3) with time zone not null
  duration_ms integer not null
  status_code integer
  error text
  response_headers bytea
  response_body bytea
  error_cause text
  attempts_check: CHECK ((num_nonnulls(status_code, error) >= 1))
  attempts_duration_ms_check: CHECK ((duration_ms >= 0))
  attempts_error_check: CHECK ((error = ANY (ARRAY['dns'::text, 'connect'::text, 'tls'::text, 'timeout'::text, 'blocked'::text, 'reset'::text, 'interrupted'::text])))
  attempts_number_check: CHECK ((number >= 1))
  attempts_pkey: PRIMARY KEY (delivery_id, number)
  attempts_status_code_check: CHECK (((status_code >= 100) AND (status_code <= 999)))
  attempts_trigger_check: CHECK ((trigger = ANY (ARRAY['event'::text, 'test'::text, 'redelivery'::text])))

table audit_log
  id bigint not null
  at timestamp(3) with time zone not null default clock_timestamp()
  actor_kind text not null
  actor_id text
  actor_name text not null
  action text not null
  subject_kind text not null
  subject_id text
  app_id uuid
  details jsonb not null default '{}'::jsonb
  audit_log_action_check: CHECK ((action ~ '^[a-z]+\.[a-z_]+$'::text))
  audit_log_actor_kind_check: CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'operator'::text, 'cli'::text, 'system'::text]))) NOT VALID
  audit_log_pkey: PRIMARY KEY (id)
  CREATE INDEX audit_log_by_account ON orgdir.audit_log USING btree (subject_id, at DESC, id DESC) WHERE (subject_kind = 'account'::text)
  CREATE INDEX audit_log_by_action ON orgdir.audit_log USING btree (action, at DESC, id DESC)
  CREATE INDEX audit_log_by_app ON orgdir.audit_log USING btree (app_id, at DESC, id DESC) WHERE (app_id IS NOT NULL)
  CREATE INDEX audit_log_by_subject ON orgdir.audit_log USING btree (subject_id)
  CREATE INDEX audit_log_by_time ON orgdir.audit_log USING btree (at DESC, id DESC)
  CREATE INDEX audit_log_by_user ON orgdir.audit_log USING btree (actor_id, at DESC, id DESC) WHERE (actor_kind = 'user'::text)
  CREATE INDEX audit_log_of_deleted_apps ON orgdir.audit_log USING gin (((details -> 'owners'::text))) WHERE (action = 'app.deleted'::text)
  CREATE INDEX audit_log_of_maintenance ON orgdir.audit_log USING btree (at DESC) WHERE (action = 'maintenance.disabled'::text)
  CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON orgdir.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()

table authenticators
  user_id uuid not null
  secret bytea not null
  confirmed_at timestamp(3) with time zone
  last_step bigint not null default 0
  wrong_codes integer not null default 0
  wrong_since timestamp(3) with time zone
  authenticators_pkey: PRIMARY KEY (user_id)
  authenticators_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE

table binding_versions
  id bigint not null
  app_id uuid not null
  org_id uuid
  alliance_id uuid
  bound_at timestamp with time zone
  valid_from timestamp with time zone not null default clock_timestamp()
  valid_to timestamp with time zone
  binding_versions_check: CHECK ((valid_to >= valid_from))
  binding_versions_check1: CHECK ((num_nonnulls(org_id, alliance_id) = num_nonnulls(bound_at)))
  binding_versions_pkey: PRIMARY KEY (id)
  CREATE INDEX binding_versions_by_app ON orgdir.binding_versions USING btree (app_id, valid_from)
  CREATE UNIQUE INDEX binding_versions_current ON orgdir.binding_versions USING btree (app_id) WHERE (valid_to IS NULL)

table bindings
  app_id uuid not null
  owner_email text collate C not null
  owner_role text not null default 'owner'::text
  org_id uuid
  alliance_id uuid
  after_position bigint not null
  created_at timestamp with time zone not null default now()
  bindings_alliance_id_owner_email_fkey: FOREIGN KEY (alliance_id, owner_email) REFERENCES alliance_managers(alliance_id, email) ON DELETE CASCADE
  bindings_app_id_owner_email_owner_role_fkey: FOREIGN KEY (app_id, owner_email, owner_role) REFERENCES app_members(app_id, email, role) ON DELETE CASCADE
  bindings_check: CHECK ((num_nonnulls(org_id, alliance_id) = 1))
  bindings_org_id_owner_email_fkey: FOREIGN KEY (org_id, owner_email) REFERENCES org_managers(org_id, email) ON DELETE CASCADE
  bindings_pkey: PRIMARY KEY (app_id)
  CREATE INDEX bindings_by_alliance ON orgdir.bindings USING btree (alliance_id, owner_email) WHERE (alliance_id IS NOT NULL)
  CREATE INDEX bindings_by_org ON orgdir.bindings USING btree (org_id, owner_email) WHERE (org_id IS NOT NULL)
  CREATE TRIGGER audit_created AFTER INSERT ON orgdir.bindings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_bindings()
  CREATE TRIGGER audit_ended AFTER DELETE ON orgdir.bindings REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_bindings()
  CREATE TRIGGER keep_version AFTER INSERT OR DELETE ON orgdir.bindings FOR EACH ROW EXECUTE FUNCTION keep_binding_version()
  CREATE TRIGGER note_position BEFORE INSERT ON orgdir.bindings FOR EACH ROW EXECUTE FUNCTION note_position()

table blueprints
  id uuid not null
  slug text collate C not null
  key text collate C not null
  name text not null
  description text
  category text not null
  output jsonb not null
  craft_time_seconds double precision
  ingredients jsonb not null default '[]'::jsonb
  sources jsonb not null default '[]'::jsonb
  version text
  active boolean not null default true
  retired_at timestamp(3) with time zone
  ingredient_terms text[] not null default '{}'::text[]
  name_sort text collate C not null
  search_text text collate C not null
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  blueprints_category_check: CHECK ((category ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text))
  blueprints_check: CHECK ((active = (retired_at IS NULL)))
  blueprints_craft_time_seconds_check: CHECK ((craft_time_seconds >= (0)::double precision))
  blueprints_key_check: CHECK ((key <> ''::text))
  blueprints_key_key: UNIQUE (key)
  blueprints_name_check: CHECK ((name <> ''::text))
  blueprints_pkey: PRIMARY KEY (id)
  blueprints_slug_check: CHECK (((slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text) AND ((length(slug) >= 1) AND (length(slug) <= 80))))
  blueprints_slug_key: UNIQUE (slug)
  CREATE INDEX blueprints_by_created ON orgdir.blueprints USING btree (created_at, id)
  CREATE INDEX blueprints_by_name ON orgdir.blueprints USING btree (name_sort, id)
  CREATE INDEX blueprints_by_updated ON orgdir.blueprints USING btree (updated_at, id)
  CREATE INDEX blueprints_retired ON orgdir.blueprints USING btree (name_sort, id) WHERE (NOT active)
  CREATE TRIGGER count_deleted AFTER DELETE ON orgdir.blueprints REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows_deleted()
  CREATE TRIGGER count_inserted AFTER INSERT ON orgdir.blueprints REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows_inserted()
  CREATE TRIGGER keep_former_slug AFTER UPDATE ON orgdir.blueprints FOR EACH ROW WHEN ((old.slug <> new.slug)) EXECUTE FUNCTION keep_former_slug()
  CREATE TRIGGER keep_search_inserted AFTER INSERT ON orgdir.blueprints REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('true', '0')
  CREATE TRIGGER keep_search_updated AFTER UPDATE ON orgdir.blueprints REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('true', '0')
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.blueprints DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('blueprints')
  CREATE TRIGGER note_entries_deleted AFTER DELETE ON orgdir.blueprints REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true')
  CREATE TRIGGER note_entries_inserted AFTER INSERT ON orgdir.blueprints REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true')
  CREATE TRIGGER note_entries_updated AFTER UPDATE ON orgdir.blueprints REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('true', 'blueprint_differs')
  CREATE TRIGGER note_values_updated AFTER UPDATE ON orgdir.blueprints REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_values_updated()
  CREATE TRIGGER touch BEFORE UPDATE ON orgdir.blueprints FOR EACH ROW EXECUTE FUNCTION touch_blueprint()

table broadcasts
  event_id uuid not null
  position bigint not null
  reached uuid not null default '00000000-0000-0000-0000-000000000000'::uuid
  advanced_at timestamp(3) with time zone not null default queue_now()
  broadcasts_pkey: PRIMARY KEY (event_id)
  broadcasts_position_key: UNIQUE ("position")

table chat_limits
  name text not null
  open_at timestamp(3) with time zone not null
  closed_since timestamp(3) with time zone
  invalid integer not null
  window_ends_at timestamp(3) with time zone not null
  chat_limits_pkey: PRIMARY KEY (name)

table confirmation_codes
  session_id uuid not null
  hash bytea not null
  tries integer not null default 0
  expires_at timestamp(3) with time zone not null
  confirmation_codes_hash_check: CHECK ((length(hash) = 32))
  confirmation_codes_pkey: PRIMARY KEY (session_id)
  confirmation_codes_session_id_fkey: FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE

table creation_idempotency_keys
  key bytea not null
  content bytea not null
  made_id uuid not null
  expires_at timestamp(3) with time zone not null
  creation_idempotency_keys_content_check: CHECK ((length(content) = 32))
  creation_idempotency_keys_key_check: CHECK ((length(key) = 32))
  creation_idempotency_keys_pkey: PRIMARY KEY (key)

table deliveries partition by RANGE (id)
  id uuid not null
  event_id uuid not null
  event text not null
  webhook_id uuid not null
  status text not null
  cancelled_by text
  attempt_count integer not null
  first_outcome_ms integer
  created_at timestamp(3) with time zone not null
  completed_at timestamp(3) with time zone not null default clock_timestamp()
  by_failure boolean
  deliveries_attempt_count_check: CHECK ((attempt_count >= 0))
  deliveries_cancelled_by_check: CHECK ((cancelled_by = ANY (ARRAY['deactivation'::text, 'permission'::text, 'deletion'::text, 'suspension'::text])))
  deliveries_check: CHECK (((status = 'cancelled'::text) = (cancelled_by IS NOT NULL)))
  deliveries_first_outcome_ms_check: CHECK ((first_outcome_ms >= 0))
  deliveries_pkey: PRIMARY KEY (id)
  deliveries_status_check: CHECK ((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
  CREATE INDEX deliveries_by_webhook ON ONLY orgdir.deliveries USING btree (webhook_id, id DESC)
  CREATE INDEX deliveries_unsuccessful ON ONLY orgdir.deliveries USING btree (webhook_id, id) INCLUDE (completed_at) WHERE (status <> 'succeeded'::text)
  CREATE TRIGGER note_deleted AFTER DELETE ON orgdir.deliveries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_delivery_changes()
  CREATE TRIGGER note_inserted AFTER INSERT ON orgdir.deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_delivery_changes()
  CREATE TRIGGER note_updated AFTER UPDATE ON orgdir.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_delivery_changes()

table delivery_changes
  xid xid8 not null default pg_current_xact_id()
  webhook_id uuid not null
  event text not null
  status text not null
  hour timestamp with time zone not null
  id_hour timestamp with time zone not null
  deliveries integer not null
  durations integer[]
  delays integer[]
  by_failure integer
  CREATE INDEX delivery_changes_by_xid ON orgdir.delivery_changes USING btree (xid)

table delivery_totals
  webhook_id uuid not null
  hour timestamp with time zone not null
  id_hour timestamp with time zone not null
  event text not null
  status text not null
  deliveries bigint not null
  delivery_totals_pkey: PRIMARY KEY (webhook_id, hour, id_hour, event, status)
  CREATE INDEX delivery_totals_by_id_hour ON orgdir.delivery_totals USING btree (id_hour)

table entry_changes
  kind text not null
  id uuid not null
  revision bigint not null
  at timestamp with time zone not null
  announce_at timestamp with time zone
  announced bigint not null default 0
  entry_changes_kind_check: CHECK ((kind = ANY (ARRAY['orgs'::text, 'alliances'::text, 'blueprints'::text])))
  entry_changes_pkey: PRIMARY KEY (kind, id)
  CREATE UNIQUE INDEX entry_changes_by_revision ON orgdir.entry_changes USING btree (kind, revision, id)
  CREATE INDEX entry_changes_to_announce ON orgdir.entry_changes USING btree (announce_at) WHERE (announce_at IS NOT NULL)

table entry_changes_dropped
  kind text not null
  revision bigint not null
  entry_changes_dropped_pkey: PRIMARY KEY (kind)

table event_kinds
  name text collate C not null
  subject text
  supplied boolean not null
  event_kinds_check: CHECK (((subject IS NOT NULL) OR (NOT supplied)))
  event_kinds_pkey: PRIMARY KEY (name)
  event_kinds_subject_check: CHECK ((subject = ANY (ARRAY['organization'::text, 'alliance'::text])))

table events partition by RANGE (id)
  id uuid not null
  name text not null
  audience text not null
  org_id uuid
  alliance_id uuid
  data text not null
  traceparent text
  created_at timestamp with time zone not null default clock_timestamp()
  position bigint
  fanned_out_at timestamp with time zone not null default clock_timestamp()
  org_listed boolean
  hidden boolean not null default false
  template smallint not null default 1
  events_are_fanned_out: CHECK (((audience = 'webhook'::text) OR ("position" IS NOT NULL)))
  events_audience_check: CHECK ((audience = ANY (ARRAY['global'::text, 'organization'::text, 'alliance'::text, 'webhook'::text])))
  events_check: CHECK (((audience <> 'organization'::text) OR ((org_id IS NOT NULL) AND (alliance_id IS NULL))))
  events_check1: CHECK (((audience <> 'alliance'::text) OR ((alliance_id IS NOT NULL) AND (org_id IS NULL))))
  events_check2: CHECK (((audience <> 'webhook'::text) OR ("position" IS NULL)))
  events_pkey: PRIMARY KEY (id)
  CREATE INDEX events_announcing ON ONLY orgdir.events USING btree (org_id) WHERE ((audience = 'global'::text) AND (org_id IS NOT NULL))
  CREATE INDEX events_by_position ON ONLY orgdir.events USING btree ("position") WHERE ("position" IS NOT NULL)
  CREATE INDEX events_visible ON ONLY orgdir.events USING btree (name, (
CASE audience
    WHEN 'global'::text THEN '00000000-0000-0000-0000-000000000000'::uuid
    ELSE COALESCE(org_id, alliance_id)
END), "position") WHERE (("position" IS NOT NULL) AND (NOT hidden))
  CREATE TRIGGER mark_hidden_event BEFORE INSERT ON orgdir.events FOR EACH ROW WHEN (((new.audience = 'global'::text) AND (new.org_id IS NOT NULL) AND (new.org_listed IS NOT TRUE))) EXECUTE FUNCTION mark_hidden_event()

table first_account_links
  hash bytea not null
  expires_at timestamp(3) with time zone not null
  first_account_links_hash_check: CHECK ((length(hash) = 32))
  first_account_links_pkey: PRIMARY KEY (hash)

table former_slugs
  kind text not null
  slug text collate C not null
  entry_id uuid not null
  left_at timestamp(3) with time zone not null default now()
  former_slugs_kind_check: CHECK ((kind = ANY (ARRAY['orgs'::text, 'alliances'::text, 'blueprints'::text])))
  former_slugs_pkey: PRIMARY KEY (kind, slug)

table idempotency_keys
  key text collate C not null
  content bytea not null
  event_id uuid not null
  created_at timestamp(3) with time zone not null default now()
  expires_at timestamp(3) with time zone not null
  idempotency_keys_check: CHECK ((expires_at > created_at))
  idempotency_keys_content_check: CHECK ((length(content) = 32))
  idempotency_keys_key_check: CHECK (((length(key) >= 1) AND (length(key) <= 255)))
  idempotency_keys_pkey: PRIMARY KEY (key)
  CREATE INDEX idempotency_keys_by_end ON orgdir.idempotency_keys USING btree (expires_at)

table installation
  name text not null
  value text not null
  decided_at timestamp(3) with time zone not null default now()
  installation_pkey: PRIMARY KEY (name)

table list_totals
  kind text not null
  entries bigint not null
  list_totals_kind_check: CHECK ((kind = ANY (ARRAY['orgs'::text, 'alliances'::text, 'blueprints'::text])))

table maintenance
  singleton boolean not null default true
  message text
  since timestamp(3) with time zone not null default now()
  expected_end timestamp(3) with time zone
  maintenance_pkey: PRIMARY KEY (singleton)
  maintenance_singleton_check: CHECK (singleton)
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.maintenance DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('system')

table migrations
  name text not null
  checksum text not null
  applied_at timestamp(3) with time zone not null default now()
  migrations_pkey: PRIMARY KEY (name)

table notices
  id uuid not null
  recipient text not null
  topic text not null
  kind text not null
  app_id uuid
  details jsonb not null
  created_at timestamp(3) with time zone not null default queue_now()
  attempts integer not null default 0
  next_attempt_at timestamp(3) with time zone default queue_now()
  not_after timestamp(3) with time zone
  notices_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  notices_pkey: PRIMARY KEY (id)
  notices_recipient_topic_key: UNIQUE (recipient, topic)
  CREATE INDEX notices_by_age ON orgdir.notices USING btree (created_at)
  CREATE INDEX notices_by_app ON orgdir.notices USING btree (app_id) WHERE (app_id IS NOT NULL)
  CREATE INDEX notices_due ON orgdir.notices USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL)

table operational_events
  id uuid not null default uuid_v7()
  app_id uuid not null
  webhook_id uuid not null
  kind text not null
  reason text
  status_code integer
  error text
  exhausted_in_a_row integer not null
  cancelled integer default 0
  host text not null
  last_success_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null default queue_now()
  repeats integer not null default 0
  next_mail_at timestamp(3) with time zone
  mail_leased_until timestamp(3) with time zone
  mail_attempts integer not null default 0
  mailed_to text[] not null default '{}'::text[]
  mailed_at timestamp(3) with time zone
  given_up_at timestamp(3) with time zone
  mail_error text
  operational_events_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  operational_events_cancelled_check: CHECK ((cancelled >= 0))
  operational_events_check: CHECK (((kind = 'webhook.deactivated'::text) = (reason IS NOT NULL)))
  operational_events_check1: CHECK ((num_nonnulls(next_mail_at, mailed_at, given_up_at) <= 1))
  operational_events_check2: CHECK (((mail_leased_until IS NULL) OR (next_mail_at IS NOT NULL)))
  operational_events_error_check: CHECK ((error = ANY (ARRAY['dns'::text, 'connect'::text, 'tls'::text, 'timeout'::text, 'blocked'::text, 'reset'::text])))
  operational_events_exhausted_in_a_row_check: CHECK ((exhausted_in_a_row >= 0))
  operational_events_kind_check: CHECK ((kind = ANY (ARRAY['webhook.failing'::text, 'webhook.deactivated'::text, 'webhook.healed'::text, 'webhook.not_healed'::text])))
  operational_events_mail_attempts_check: CHECK (((mail_attempts >= 0) AND (mail_attempts <= 8)))
  operational_events_pkey: PRIMARY KEY (id)
  operational_events_reason_check: CHECK ((reason = ANY (ARRAY['failing'::text, 'gone'::text])))
  operational_events_repeats_check: CHECK ((repeats >= 0))
  operational_events_status_code_check: CHECK (((status_code >= 100) AND (status_code <= 999)))
  operational_events_webhook_id_fkey: FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
  CREATE INDEX operational_events_by_app ON orgdir.operational_events USING btree (app_id, created_at DESC, id DESC)
  CREATE INDEX operational_events_by_time ON orgdir.operational_events USING btree (created_at)
  CREATE INDEX operational_events_by_webhook ON orgdir.operational_events USING btree (webhook_id, created_at DESC, id DESC)
  CREATE INDEX operational_events_to_mail ON orgdir.operational_events USING btree (next_mail_at) WHERE (next_mail_at IS NOT NULL)

table operators
  account_id uuid not null
  role text not null
  created_at timestamp(3) with time zone not null default now()
  operators_account_id_fkey: FOREIGN KEY (account_id) REFERENCES users(id) ON DELETE CASCADE
  operators_pkey: PRIMARY KEY (account_id)
  operators_role_check: CHECK ((role = ANY (ARRAY['operator'::text, 'read-only'::text])))

table org_managers
  org_id uuid not null
  email text collate C not null
  created_at timestamp(3) with time zone not null default now()
  org_managers_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  org_managers_org_id_fkey: FOREIGN KEY (org_id) REFERENCES orgs(id) ON DELETE CASCADE
  org_managers_pkey: PRIMARY KEY (org_id, email)
  CREATE INDEX org_managers_by_email ON orgdir.org_managers USING btree (email)
  CREATE TRIGGER audit_added AFTER INSERT ON orgdir.org_managers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_managers('organization', 'org_id', 'orgs')
  CREATE TRIGGER audit_removed AFTER DELETE ON orgdir.org_managers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION audit_managers('organization', 'org_id', 'orgs')

table orgs
  id uuid not null
  slug text collate C not null
  name text not null
  tag text
  description text
  primary_activity text
  secondary_activity text
  commitment text
  recruiting boolean not null default false
  language text
  timezone text
  location text
  member_count integer not null default 0
  logo_url text
  banner_url text
  links jsonb not null default '{}'::jsonb
  alliance_id uuid
  verified boolean not null default false
  status text not null default 'active'::text
  founded_at timestamp(3) with time zone
  listed boolean not null default true
  first_listed_at timestamp(3) with time zone
  contact_email text
  chat_server_id text
  notes text
  name_sort text collate C not null
  search_text text collate C not null
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  aliases jsonb not null default '[]'::jsonb
  orgs_alliance_id_fkey: FOREIGN KEY (alliance_id) REFERENCES alliances(id) ON DELETE SET NULL
  orgs_check: CHECK (((NOT listed) OR (first_listed_at IS NOT NULL)))
  orgs_member_count_check: CHECK ((member_count >= 0))
  orgs_name_check: CHECK ((name <> ''::text))
  orgs_pkey: PRIMARY KEY (id)
  orgs_slug_check: CHECK (((slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text) AND ((length(slug) >= 1) AND (length(slug) <= 80))))
  orgs_slug_key: UNIQUE (slug)
  orgs_status_check: CHECK ((status = ANY (ARRAY['active'::text, 'closed'::text])))
  CREATE INDEX orgs_by_alliance ON orgdir.orgs USING btree (alliance_id, name_sort, id) WHERE listed
  CREATE INDEX orgs_by_created ON orgdir.orgs USING btree (created_at, id) WHERE listed
  CREATE INDEX orgs_by_members ON orgdir.orgs USING btree (member_count, id) WHERE listed
  CREATE INDEX orgs_by_name ON orgdir.orgs USING btree (name_sort, id) WHERE listed
  CREATE INDEX orgs_by_updated ON orgdir.orgs USING btree (updated_at, id) WHERE listed
  CREATE INDEX orgs_of_alliance ON orgdir.orgs USING btree (alliance_id) WHERE (alliance_id IS NOT NULL)
  CREATE INDEX orgs_unlisted_by_name ON orgdir.orgs USING btree (name_sort) WHERE (NOT listed)
  CREATE TRIGGER count_deleted AFTER DELETE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_orgs_deleted()
  CREATE TRIGGER count_inserted AFTER INSERT ON orgdir.orgs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_orgs_inserted()
  CREATE TRIGGER count_updated AFTER UPDATE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_orgs_updated()
  CREATE TRIGGER keep_former_slug AFTER UPDATE ON orgdir.orgs FOR EACH ROW WHEN ((old.slug <> new.slug)) EXECUTE FUNCTION keep_former_slug()
  CREATE TRIGGER keep_search_inserted AFTER INSERT ON orgdir.orgs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('listed', 'member_count')
  CREATE TRIGGER keep_search_updated AFTER UPDATE ON orgdir.orgs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_search('listed', 'member_count')
  CREATE TRIGGER mark_events_of_deleted AFTER DELETE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION mark_events_of_deleted()
  CREATE TRIGGER mark_hidden_events AFTER UPDATE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION mark_hidden_events()
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.orgs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('directory')
  CREATE TRIGGER note_entries_deleted AFTER DELETE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('listed')
  CREATE TRIGGER note_entries_inserted AFTER INSERT ON orgdir.orgs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('listed')
  CREATE TRIGGER note_entries_updated AFTER UPDATE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_entries_changed('listed', 'org_differs')
  CREATE TRIGGER note_first_listing BEFORE INSERT OR UPDATE ON orgdir.orgs FOR EACH ROW WHEN ((new.listed AND (new.first_listed_at IS NULL))) EXECUTE FUNCTION note_first_listing()
  CREATE TRIGGER note_values_updated AFTER UPDATE ON orgdir.orgs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_values_updated()
  CREATE TRIGGER touch BEFORE UPDATE ON orgdir.orgs FOR EACH ROW EXECUTE FUNCTION touch_org()

table outbox
  xid xid8 not null default pg_current_xact_id()
  id uuid not null
  name text not null
  audience text not null
  org_id uuid
  alliance_id uuid
  data text not null
  traceparent text
  created_at timestamp with time zone not null default clock_timestamp()
  outbox_audience_check: CHECK ((audience = ANY (ARRAY['global'::text, 'organization'::text, 'alliance'::text])))
  outbox_check: CHECK (((audience <> 'organization'::text) OR ((org_id IS NOT NULL) AND (alliance_id IS NULL))))
  outbox_check1: CHECK (((audience <> 'alliance'::text) OR ((alliance_id IS NOT NULL) AND (org_id IS NULL))))
  outbox_pkey: PRIMARY KEY (xid, id)

table passkey_challenges
  hash bytea not null
  session_id uuid
  expires_at timestamp(3) with time zone not null
  passkey_challenges_hash_check: CHECK ((length(hash) = 32))
  passkey_challenges_pkey: PRIMARY KEY (hash)
  passkey_challenges_session_id_fkey: FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
  CREATE INDEX passkey_challenges_by_end ON orgdir.passkey_challenges USING btree (expires_at)
  CREATE INDEX passkey_challenges_by_session ON orgdir.passkey_challenges USING btree (session_id)

table passkeys
  id uuid not null
  user_id uuid not null
  name text not null
  credential_id text collate C not null
  public_key bytea not null
  counter bigint not null
  created_at timestamp(3) with time zone not null default now()
  last_used_at timestamp(3) with time zone
  passkeys_credential_id_key: UNIQUE (credential_id)
  passkeys_name_check: CHECK (((length(name) >= 1) AND (length(name) <= 100)))
  passkeys_pkey: PRIMARY KEY (id)
  passkeys_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX passkeys_by_user ON orgdir.passkeys USING btree (user_id)

table password_links
  email text collate C not null
  hash bytea not null
  creates_account boolean not null
  expires_at timestamp(3) with time zone not null
  password_links_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  password_links_hash_check: CHECK ((length(hash) = 32))
  password_links_hash_key: UNIQUE (hash)
  password_links_pkey: PRIMARY KEY (email)
  CREATE INDEX password_links_by_end ON orgdir.password_links USING btree (expires_at)
  CREATE TRIGGER set_purpose BEFORE INSERT OR UPDATE OF hash ON orgdir.password_links FOR EACH ROW EXECUTE FUNCTION set_password_link_purpose()

table pending_deliveries
  id uuid not null
  event_id uuid not null
  event text not null
  webhook_id uuid not null
  trigger text not null
  cycle_attempts integer not null default 0
  attempt_count integer not null default 0
  due_at timestamp(3) with time zone not null
  parked boolean not null default false
  lease_token uuid
  leased_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null default clock_timestamp()
  pending_deliveries_check: CHECK ((attempt_count >= cycle_attempts))
  pending_deliveries_check1: CHECK ((num_nonnulls(lease_token, leased_at) = ANY (ARRAY[0, 2])))
  pending_deliveries_check2: CHECK (((NOT parked) OR (lease_token IS NULL)))
  pending_deliveries_cycle_attempts_check: CHECK (((cycle_attempts >= 0) AND (cycle_attempts <= 6)))
  pending_deliveries_pkey: PRIMARY KEY (id)
  pending_deliveries_trigger_check: CHECK ((trigger = ANY (ARRAY['event'::text, 'test'::text, 'redelivery'::text, 'probe'::text])))
  CREATE INDEX pending_deliveries_by_webhook ON orgdir.pending_deliveries USING btree (webhook_id, due_at)
  CREATE INDEX pending_deliveries_due ON orgdir.pending_deliveries USING btree (due_at) WHERE ((lease_token IS NULL) AND (NOT parked))
  CREATE INDEX pending_deliveries_late ON orgdir.pending_deliveries USING btree (event_id) WHERE ("left"((id)::text, 6) <> "left"((event_id)::text, 6))
  CREATE INDEX pending_deliveries_leased ON orgdir.pending_deliveries USING btree (due_at) WHERE (lease_token IS NOT NULL)
  CREATE INDEX pending_deliveries_to_claim ON orgdir.pending_deliveries USING btree (webhook_id, due_at, id) WHERE parked

table published_events
  id uuid not null
  xid xid8 not null default pg_current_xact_id()
  name text collate C not null
  org_id uuid
  alliance_id uuid
  data text
  created_at timestamp with time zone not null
  rejected_at timestamp(3) with time zone
  reason text
  published_events_check: CHECK ((num_nonnulls(org_id, alliance_id) = 1))
  published_events_check1: CHECK (((rejected_at IS NULL) = (reason IS NULL)))
  published_events_data_check: CHECK ((octet_length(data) <= 65536))
  published_events_pkey: PRIMARY KEY (id)
  published_events_reason_check: CHECK ((length(reason) <= 2000))
  CREATE INDEX published_events_rejected ON orgdir.published_events USING btree (rejected_at, id) WHERE (rejected_at IS NOT NULL)
  CREATE INDEX published_events_to_take ON orgdir.published_events USING btree (xid, id) WHERE (rejected_at IS NULL)

table rate_windows
  key_id uuid not null
  ends_at timestamp with time zone not null
  used bigint not null
  granted integer not null
  rate_windows_pkey: PRIMARY KEY (key_id)

table recovery_codes
  user_id uuid not null
  hash bytea not null
  recovery_codes_hash_check: CHECK ((length(hash) = 32))
  recovery_codes_pkey: PRIMARY KEY (user_id, hash)
  recovery_codes_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE

table revisions
  scope text not null
  revision bigint not null
  revisions_pkey: PRIMARY KEY (scope)

table search_changes
  kind text not null
  revision bigint
  at timestamp with time zone not null default now()
  written integer[] not null
  adjusted integer[] not null
  entries uuid[]
  was_public boolean
  is_public boolean
  silent boolean not null default false
  xid xid8 default pg_current_xact_id()
  search_changes_kind_check: CHECK ((kind = ANY (ARRAY['orgs'::text, 'alliances'::text, 'blueprints'::text])))
  CREATE INDEX search_changes_by_age ON orgdir.search_changes USING btree (at) WHERE (entries IS NULL)
  CREATE INDEX search_changes_by_revision ON orgdir.search_changes USING btree (kind, revision)
  CREATE INDEX search_changes_by_xid ON orgdir.search_changes USING btree (xid)
  CREATE INDEX search_changes_to_fold ON orgdir.search_changes USING btree (revision) WHERE (entries IS NOT NULL)

table searchable_alliances
  id uuid not null
  ordinal integer not null
  members bigint not null
  listed boolean not null
  name_sort text collate C not null
  search_text text collate C not null
  searchable_alliances_id_fkey: FOREIGN KEY (id) REFERENCES alliances(id) ON DELETE CASCADE
  searchable_alliances_ordinal_key: UNIQUE (ordinal)
  searchable_alliances_pkey: PRIMARY KEY (id)
  CREATE TRIGGER note_deleted AFTER DELETE ON orgdir.searchable_alliances REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_deleted('alliances')
  CREATE TRIGGER note_inserted AFTER INSERT ON orgdir.searchable_alliances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_inserted('alliances')
  CREATE TRIGGER note_updated AFTER UPDATE ON orgdir.searchable_alliances REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_updated('alliances')

table searchable_blueprints
  id uuid not null
  ordinal integer not null
  members bigint not null
  listed boolean not null
  name_sort text collate C not null
  search_text text collate C not null
  searchable_blueprints_id_fkey: FOREIGN KEY (id) REFERENCES blueprints(id) ON DELETE CASCADE
  searchable_blueprints_ordinal_key: UNIQUE (ordinal)
  searchable_blueprints_pkey: PRIMARY KEY (id)
  CREATE TRIGGER note_deleted AFTER DELETE ON orgdir.searchable_blueprints REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_deleted('blueprints')
  CREATE TRIGGER note_inserted AFTER INSERT ON orgdir.searchable_blueprints REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_inserted('blueprints')
  CREATE TRIGGER note_updated AFTER UPDATE ON orgdir.searchable_blueprints REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_updated('blueprints')

table searchable_orgs
  id uuid not null
  ordinal integer not null
  members bigint not null
  listed boolean not null
  name_sort text collate C not null
  search_text text collate C not null
  searchable_orgs_id_fkey: FOREIGN KEY (id) REFERENCES orgs(id) ON DELETE CASCADE
  searchable_orgs_ordinal_key: UNIQUE (ordinal)
  searchable_orgs_pkey: PRIMARY KEY (id)
  CREATE TRIGGER note_deleted AFTER DELETE ON orgdir.searchable_orgs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_deleted('orgs')
  CREATE TRIGGER note_inserted AFTER INSERT ON orgdir.searchable_orgs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_inserted('orgs')
  CREATE TRIGGER note_updated AFTER UPDATE ON orgdir.searchable_orgs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_search_updated('orgs')

table service_stats
  hour timestamp with time zone not null
  status text not null
  bucket smallint not null
  deliveries bigint not null
  service_stats_pkey: PRIMARY KEY (hour, status, bucket)

table sessions
  id uuid not null
  user_id uuid not null
  token text not null
  expires_at timestamp(3) with time zone not null
  ip_address text
  user_agent text
  proven_at timestamp(3) with time zone
  second_factor_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  sessions_pkey: PRIMARY KEY (id)
  sessions_token_key: UNIQUE (token)
  sessions_user_id_fkey: FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX sessions_by_end ON orgdir.sessions USING btree (expires_at)
  CREATE INDEX sessions_by_user ON orgdir.sessions USING btree (user_id)

table set_aside
  id uuid not null default uuid_v7()
  source text not null
  stage text not null
  original jsonb not null
  code text
  reason text not null
  event_id uuid
  delivery_id uuid
  webhook_id uuid
  set_aside_at timestamp(3) with time zone not null default queue_now()
  set_aside_pkey: PRIMARY KEY (id)
  set_aside_reason_check: CHECK ((length(reason) <= 2000))
  set_aside_source_check: CHECK ((source = ANY (ARRAY['published_events'::text, 'outbox'::text, 'pending_deliveries'::text, 'webhook_outcomes'::text, 'delivery_changes'::text, 'operational_events'::text])))
  CREATE INDEX set_aside_by_time ON orgdir.set_aside USING btree (set_aside_at)
  CREATE INDEX set_aside_by_webhook ON orgdir.set_aside USING btree (webhook_id, event_id)

table sign_up_blocks
  pattern text collate C not null
  created_at timestamp(3) with time zone not null default now()
  sign_up_blocks_pattern_check: CHECK (((pattern = lower(btrim(pattern))) AND (pattern <> ''::text)))
  sign_up_blocks_pkey: PRIMARY KEY (pattern)

table suspensions
  account_id uuid
  app_id uuid
  webhook_id uuid
  key_id uuid
  reason text not null
  suspended_at timestamp(3) with time zone not null default now()
  suspensions_account_id_fkey: FOREIGN KEY (account_id) REFERENCES users(id) ON DELETE CASCADE
  suspensions_account_id_key: UNIQUE (account_id)
  suspensions_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  suspensions_app_id_key: UNIQUE (app_id)
  suspensions_check: CHECK ((num_nonnulls(account_id, app_id, webhook_id, key_id) = 1))
  suspensions_key_id_fkey: FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
  suspensions_key_id_key: UNIQUE (key_id)
  suspensions_reason_check: CHECK (((length(reason) >= 1) AND (length(reason) <= 500)))
  suspensions_webhook_id_fkey: FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
  suspensions_webhook_id_key: UNIQUE (webhook_id)
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.suspensions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('access')

table sync_runs
  id uuid not null
  kind text not null
  source text not null
  trigger text not null default 'cli'::text
  status text not null
  started_at timestamp(3) with time zone not null default now()
  finished_at timestamp(3) with time zone
  counts json
  version text
  reason text
  message text
  problems jsonb not null default '[]'::jsonb
  validators jsonb
  sync_runs_check: CHECK (((status = 'running'::text) = (finished_at IS NULL)))
  sync_runs_check1: CHECK (((status = 'failed'::text) = (reason IS NOT NULL)))
  sync_runs_check2: CHECK (((status = 'succeeded'::text) = (counts IS NOT NULL)))
  sync_runs_kind_check: CHECK ((kind = ANY (ARRAY['blueprints'::text, 'chat'::text])))
  sync_runs_pkey: PRIMARY KEY (id)
  sync_runs_status_check: CHECK ((status = ANY (ARRAY['running'::text, 'succeeded'::text, 'failed'::text])))
  sync_runs_trigger_check: CHECK ((trigger = ANY (ARRAY['schedule'::text, 'cli'::text, 'api'::text])))
  CREATE INDEX sync_runs_completed ON orgdir.sync_runs USING btree (kind, finished_at DESC) WHERE (status = 'succeeded'::text)
  CREATE CONSTRAINT TRIGGER move_revision AFTER INSERT OR DELETE OR UPDATE ON orgdir.sync_runs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION move_revision('system')

table sync_schedules
  kind text not null
  cron text not null
  due_at timestamp(3) with time zone not null
  tries integer not null default 0
  sync_schedules_kind_check: CHECK ((kind = ANY (ARRAY['blueprints'::text, 'chat'::text])))
  sync_schedules_pkey: PRIMARY KEY (kind)
  sync_schedules_tries_check: CHECK ((tries >= 0))

table usage
  day date not null
  app_id uuid
  key_id uuid
  requests bigint not null default 0
  errors bigint not null default 0
  bytes bigint not null default 0
  events bigint not null default 0
  deliveries bigint not null default 0
  usage_day_key_id_app_id_key: UNIQUE NULLS NOT DISTINCT (day, key_id, app_id)
  CREATE INDEX usage_by_app ON orgdir.usage USING btree (app_id, day)

table users
  id uuid not null
  name text not null
  email text collate C not null
  email_verified boolean not null default false
  image text
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  announcement_mails boolean not null default true
  users_email_check: CHECK (((email = lower(btrim(email))) AND (email ~~ '%_@_%'::text)))
  users_email_key: UNIQUE (email)
  users_pkey: PRIMARY KEY (id)
  users_proven: CHECK (email_verified)
  CREATE TRIGGER delete_password_links BEFORE INSERT ON orgdir.users FOR EACH ROW EXECUTE FUNCTION delete_password_links_of_account()

table verifications
  id uuid not null
  identifier text not null
  value text not null
  expires_at timestamp(3) with time zone not null
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  verifications_pkey: PRIMARY KEY (id)
  CREATE INDEX verifications_by_end ON orgdir.verifications USING btree (expires_at)
  CREATE INDEX verifications_by_identifier ON orgdir.verifications USING btree (identifier)

table webhook_healing
  webhook_id uuid not null
  failed_probes integer
  succeeded boolean not null default false
  healed_at timestamp(3) with time zone[] not null default '{}'::timestamp with time zone[]
  replay_since timestamp(3) with time zone
  paused boolean not null default false
  webhook_healing_failed_probes_check: CHECK ((failed_probes >= 0))
  webhook_healing_healed_at_check: CHECK ((cardinality(healed_at) <= 3))
  webhook_healing_pkey: PRIMARY KEY (webhook_id)
  webhook_healing_webhook_id_fkey: FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
  CREATE INDEX webhook_healing_to_replay ON orgdir.webhook_healing USING btree (webhook_id) WHERE (replay_since IS NOT NULL)

table webhook_health
  webhook_id uuid not null
  version bigint not null
  last_success_at timestamp(3) with time zone
  last_failure_at timestamp(3) with time zone
  exhausted_in_a_row integer not null
  latency_ms integer
  webhook_health_exhausted_in_a_row_check: CHECK ((exhausted_in_a_row >= 0))
  webhook_health_pkey: PRIMARY KEY (webhook_id, version)
  webhook_health_webhook_id_fkey: FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE

table webhook_idempotency_keys
  app_id uuid not null
  key bytea not null
  content bytea not null
  secret bytea not null
  webhook_id uuid not null
  expires_at timestamp(3) with time zone not null
  webhook_idempotency_keys_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  webhook_idempotency_keys_content_check: CHECK ((length(content) = 32))
  webhook_idempotency_keys_key_check: CHECK ((length(key) = 32))
  webhook_idempotency_keys_pkey: PRIMARY KEY (app_id, key)
  webhook_idempotency_keys_secret_check: CHECK ((length(secret) = 32))

table webhook_outcomes
  xid xid8 not null default pg_current_xact_id()
  seq bigint not null
  webhook_id uuid not null
  verdict text not null
  status_code integer
  error text
  gone boolean not null
  duration_ms integer
  recorded_at timestamp(3) with time zone not null default queue_now()
  webhook_outcomes_pkey: PRIMARY KEY (xid, seq)
  webhook_outcomes_verdict_check: CHECK ((verdict = ANY (ARRAY['succeeded'::text, 'retry'::text, 'failed'::text, 'probe_succeeded'::text, 'probe_failed'::text])))
  CREATE INDEX webhook_outcomes_by_webhook ON orgdir.webhook_outcomes USING btree (webhook_id, xid DESC, seq DESC)

table webhook_stats
  webhook_id uuid not null
  hour timestamp with time zone not null
  status text not null
  bucket smallint not null
  deliveries bigint not null
  by_failure bigint not null default 0
  webhook_stats_pkey: PRIMARY KEY (webhook_id, hour, status, bucket)
  CREATE INDEX webhook_stats_by_hour ON orgdir.webhook_stats USING btree (hour)

table webhook_versions
  id bigint not null
  webhook_id uuid not null
  active boolean not null
  events text[]
  valid_from timestamp with time zone not null default clock_timestamp()
  valid_to timestamp with time zone
  filter_path jsonpath
  webhook_versions_check: CHECK ((valid_to >= valid_from))
  webhook_versions_pkey: PRIMARY KEY (id)
  webhook_versions_webhook_id_fkey: FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
  CREATE INDEX webhook_versions_by_webhook ON orgdir.webhook_versions USING btree (webhook_id, valid_from)
  CREATE UNIQUE INDEX webhook_versions_current ON orgdir.webhook_versions USING btree (webhook_id) WHERE (valid_to IS NULL)

table webhooks
  id uuid not null
  app_id uuid not null
  url text not null
  description text
  events text[]
  active boolean not null default true
  deactivated_at timestamp(3) with time zone
  deactivated_reason text
  self_healing boolean not null default true
  replay_after_healing boolean not null default false
  secret bytea not null
  previous_secret bytea
  previous_secret_expires_at timestamp(3) with time zone
  created_at timestamp(3) with time zone not null default now()
  updated_at timestamp(3) with time zone not null default now()
  filters json
  filter_path jsonpath
  own_headers bytea
  own_header_names text[]
  format text not null default 'json'::text
  sealed_url bytea
  webhooks_app_id_fkey: FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE
  webhooks_check: CHECK ((active = (deactivated_at IS NULL)))
  webhooks_check1: CHECK ((active = (deactivated_reason IS NULL)))
  webhooks_check2: CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL)))
  webhooks_deactivated_reason_check: CHECK ((deactivated_reason = ANY (ARRAY['failing'::text, 'gone'::text, 'owner'::text, 'suspended'::text])))
  webhooks_events_check: CHECK ((cardinality(events) > 0))
  webhooks_pkey: PRIMARY KEY (id)
  webhooks_url_check: CHECK ((length(url) <= 2048))
  CREATE INDEX webhooks_by_app ON orgdir.webhooks USING btree (app_id, id)
  CREATE TRIGGER drop_set_aside AFTER DELETE ON orgdir.webhooks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_set_aside()
  CREATE TRIGGER keep_version_changed AFTER UPDATE ON orgdir.webhooks FOR EACH ROW WHEN ((((old.active IS DISTINCT FROM new.active) OR (old.events IS DISTINCT FROM new.events)) OR ((old.filter_path)::text IS DISTINCT FROM (new.filter_path)::text))) EXECUTE FUNCTION keep_webhook_version()
  CREATE TRIGGER keep_version_created AFTER INSERT ON orgdir.webhooks FOR EACH ROW EXECUTE FUNCTION keep_webhook_version()

table workers
  id uuid not null
  seen_at timestamp(3) with time zone not null
  migration integer
  workers_pkey: PRIMARY KEY (id)

CREATE OR REPLACE FUNCTION orgdir.alliance_differs(old alliances, new alliances)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'orgdir', 'public'
AS $function$
  select (new.slug, new.name, new.tag, new.aliases, new.description, new.logo_url, new.banner_url, new.links, new.recruiting,
      new.org_count, new.member_count, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.logo_url, old.banner_url, old.links, old.recruiting,
      old.org_count, old.member_count, old.status, old.founded_at)
$function$

CREATE OR REPLACE FUNCTION orgdir.app_may_receive(audience text, event_org uuid, event_alliance uuid, event_created timestamp with time zone, app uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select may_receive(audience, event_org, event_alliance, event_created,
    (select listed from orgs where id = event_org), b.org_id, b.alliance_id, b.created_at)
  from (values (app)) as asked(app_id) left join bindings b on b.app_id = asked.app_id
$function$

CREATE OR REPLACE FUNCTION orgdir.apply_alliance_difference(alliance uuid, orgs_more bigint, members_more bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'orgdir', 'public'
AS $function$
  update alliances
  set org_count = org_count + orgs_more, member_count = member_count + members_more
  where id = alliance and (orgs_more <> 0 or members_more <> 0)
$function$

CREATE OR REPLACE FUNCTION orgdir.audit_app_invitations()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  actor constant jsonb := current_actor();
  invitation app_invitations;
  cause text;
begin
  if tg_op = 'DELETE' then
    invitation := old;
    cause := case
      when exists (select from app_members where app_id = old.app_id and email = old.email) then 'accepted'
      when old.expires_at <= now() then 'expired'
      when actor->>'name' = old.email then 'declined'
      -- Deleted by a trigger, or by the foreign key.
      when pg_trigger_depth() > 1 or not exists (
        select from app_members where app_id = old.app_id and email = old.invited_by and role = 'owner'
      ) then 'owner lost'
      else 'revoked'
    end;
  else
    invitation := new;
  end if;
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'invitation.created' when 'UPDATE' then 'invitation.resent' else 'invitation.ended' end,
    'invitation', invitation.id, id,
    jsonb_strip_nulls(jsonb_build_object('email', invitation.email, 'role', invitation.role, 'cause', cause))
  from apps where id = invitation.app_id;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.audit_app_members()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  actor constant jsonb := current_actor();
  member app_members;
  before text;
begin
  if tg_op = 'DELETE' then
    member := old;
  else
    member := new;
  end if;
  if tg_op = 'UPDATE' then
    before := old.role;
  end if;
  -- The creation and the deletion of an app are one entry each, which names its owners.
  if not exists (select from apps where id = member.app_id)
    or (tg_op = 'INSERT' and not exists (select from app_members where app_id = member.app_id and id <> member.id)) then
    return null;
  end if;
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  values (actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'member.added' when 'UPDATE' then 'member.role_changed' else 'member.removed' end,
    'member', member.id, member.app_id,
    jsonb_strip_nulls(jsonb_build_object('email', member.email, 'role', member.role, 'before', before)));
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.audit_bindings()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  actor constant jsonb := current_actor();
begin
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'binding.created' else 'binding.ended' end,
    case when c.org_id is null then 'alliance' else 'organization' end, coalesce(c.org_id, c.alliance_id), c.app_id,
    jsonb_strip_nulls(jsonb_build_object('slug', coalesce(o.slug, a.slug), 'owner', c.owner_email, 'cause', case
      when tg_op = 'INSERT' then null
      when not exists (select from apps where id = c.app_id) then 'app deleted'
      when c.org_id is not null and o.id is null then 'organization deleted'
      when c.alliance_id is not null and a.id is null then 'alliance deleted'
      -- Deleted by a trigger of `app_members`, or by the foreign key.
      when pg_trigger_depth() > 1 or not exists (
        select from app_members m where m.app_id = c.app_id and m.email = c.owner_email and m.role = 'owner'
      ) then 'owner lost'
      when exists (select from org_managers m where m.org_id = c.org_id and m.email = c.owner_email)
        or exists (select from alliance_managers m where m.alliance_id = c.alliance_id and m.email = c.owner_email)
        then 'unbound'
      else 'role lost'
    end))
  from changed c left join orgs o on o.id = c.org_id left join alliances a on a.id = c.alliance_id
  order by c.app_id;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.audit_managers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  subject_kind constant text := tg_argv[0];
  actor constant jsonb := current_actor();
begin
  -- The names are those of the time: the subject itself may be gone by now, and the role with it.
  execute format(
    'insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, details)
     select $1->>''kind'', $1->>''id'', $1->>''name'', $2, $3, c.%1$I, jsonb_strip_nulls(jsonb_build_object(''email'', c.email, ''slug'', s.slug))
     from changed c left join %2$I s on s.id = c.%1$I order by c.%1$I, c.email',
    tg_argv[1], tg_argv[2])
  using actor, case tg_op when 'INSERT' then 'manager.added' else 'manager.removed' end, subject_kind;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.blueprint_differs(old blueprints, new blueprints)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'orgdir', 'public'
AS $function$
  select (new.slug, new.key, new.name, new.description, new.category, new.output, new.craft_time_seconds,
      new.ingredients, new.sources, new.version, new.active, new.retired_at)
    is distinct from
     (old.slug, old.key, old.name, old.description, old.category, old.output, old.craft_time_seconds,
      old.ingredients, old.sources, old.version, old.active, old.retired_at)
$function$

CREATE OR REPLACE FUNCTION orgdir.count_orgs_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into list_totals select 'orgs', -count(*) from old_rows where listed having count(*) <> 0;
  perform apply_alliance_difference(alliance_id, -entries, -members) from (
    select alliance_id, count(*) as entries, sum(member_count) as members
    from old_rows where listed and alliance_id is not null group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.count_orgs_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into list_totals select 'orgs', count(*) from new_rows where listed having count(*) <> 0;
  -- In the order of ids: two transactions that touch the same alliances wait, and do not deadlock.
  perform apply_alliance_difference(alliance_id, entries, members) from (
    select alliance_id, count(*) as entries, sum(member_count) as members
    from new_rows where listed and alliance_id is not null group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.count_orgs_updated()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into list_totals
  select 'orgs', sum(entries) from (
    select count(*) as entries from new_rows where listed
    union all select -count(*) from old_rows where listed
  ) as counts having sum(entries) <> 0;
  perform apply_alliance_difference(alliance_id, entries, members) from (
    select alliance_id, sum(entries)::bigint as entries, sum(members)::bigint as members from (
      select alliance_id, 1 as entries, member_count as members
      from new_rows where listed and alliance_id is not null
      union all
      select alliance_id, -1, -member_count from old_rows where listed and alliance_id is not null
    ) as each_row group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.count_rows_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into list_totals select tg_table_name, -count(*) from old_rows having count(*) <> 0;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.count_rows_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into list_totals select tg_table_name, count(*) from new_rows having count(*) <> 0;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.current_actor()
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'orgdir', 'public'
AS $function$
  select coalesce(nullif(current_setting('orgdir.actor', true), '')::jsonb,
    jsonb_build_object('kind', 'system', 'name', 'database role ' || session_user))
$function$

CREATE OR REPLACE FUNCTION orgdir.delete_password_links_of_account()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  delete from password_links where email = new.email;
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.drop_binding_versions()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  delete from binding_versions where app_id = old.id;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.drop_set_aside()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  delete from set_aside where webhook_id in (select id from gone);
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.end_what_depends_on_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  delete from bindings where app_id = old.app_id and owner_email = old.email;
  delete from app_invitations where app_id = old.app_id and invited_by = old.email;
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.ensure_outbox_partitions()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  today constant date := (clock_timestamp() at time zone 'utc')::date;
begin
  perform ensure_partitions(day, day)
  from (
    select distinct (uuid_v7_hour(id) at time zone 'utc')::date as day from outbox
    -- The delivery gets an id of its own, by the database's clock.
    union select today
  ) days
  -- An id that is further away is not a time. Without a bound, a few such rows could make thousands of tables.
  where abs(day - today) <= 400
  order by day;
end $function$

CREATE OR REPLACE FUNCTION orgdir.ensure_partitions(first_day date, last_day date)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
 SET lock_timeout TO '200ms'
AS $function$
declare
  parent text;
  day date;
  partition text;
begin
  -- Two processes that start at once must not create the same table.
  begin
    perform pg_advisory_xact_lock(70420002);
  exception when lock_not_available then
    return;
  end;
  foreach parent in array array['events', 'deliveries', 'attempts'] loop
    -- A table at a time: the lock is waited for once, whatever the number of days.
    begin
      for day in select generate_series(first_day, last_day, interval '1 day')::date loop
        partition := parent || '_' || to_char(day, 'YYYYMMDD');
        if to_regclass(partition) is null then
          execute format('create table %I (like %I including all)', partition, parent);
          execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition,
            uuid_v7_floor(day::timestamp at time zone 'utc'),
            uuid_v7_floor((day + 1)::timestamp at time zone 'utc'));
        end if;
      end loop;
    exception when lock_not_available then
      null;
    end;
  end loop;
end $function$

CREATE OR REPLACE FUNCTION orgdir.filterable(data text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return data::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.is_failing(last_success_at timestamp with time zone, last_failure_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select coalesce(last_failure_at > coalesce(last_success_at, '-infinity'), false)
$function$

CREATE OR REPLACE FUNCTION orgdir.keep_an_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  -- Otherwise two transactions could remove the last two owners, because neither sees the change of the other.
  perform from apps where id = old.app_id for update;
  if found and not exists (select from app_members where app_id = old.app_id and role = 'owner') then
    raise exception 'the app % would have no owner', old.app_id
      using errcode = 'check_violation', constraint = 'apps_have_an_owner';
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.keep_binding_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  app constant uuid := case when tg_op = 'DELETE' then old.app_id else new.app_id end;
  -- A clock that was put back must not make intervals overlap.
  changed_at constant timestamptz := greatest(clock_timestamp(),
    (select valid_from from binding_versions where app_id = app and valid_to is null));
begin
  update binding_versions set valid_to = changed_at where app_id = app and valid_to is null;
  -- The binding of a deleted app leaves nothing.
  insert into binding_versions (app_id, org_id, alliance_id, bound_at, valid_from)
  select a.id, b.org_id, b.alliance_id, b.created_at, changed_at
  from apps a left join bindings b on b.app_id = a.id where a.id = app;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.keep_former_slug()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  delete from former_slugs where kind = tg_table_name and slug = new.slug and entry_id = new.id;
  insert into former_slugs (kind, slug, entry_id) values (tg_table_name, old.slug, new.id)
  on conflict (kind, slug) do update set entry_id = excluded.entry_id, left_at = excluded.left_at;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.keep_search()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  target constant text := 'searchable_' || tg_table_name;
  listed constant text := tg_argv[0];
  members constant text := tg_argv[1];
begin
  if tg_op = 'INSERT' then
    execute format(
      'insert into %1$I (id, members, listed, name_sort, search_text)
       select id, %3$s, %2$s, name_sort, search_text from new_rows', target, listed, members);
    return null;
  end if;
  execute format(
    'update %1$I s set members = n.members, listed = n.listed, name_sort = n.name_sort, search_text = n.search_text
     from (select id, %3$s as members, %2$s as listed, name_sort, search_text from new_rows) n
     where s.id = n.id and (s.members, s.listed, s.name_sort, s.search_text)
       is distinct from (n.members, n.listed, n.name_sort, n.search_text)', target, listed, members);
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.keep_webhook_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  -- A clock that was put back must not make intervals overlap.
  changed_at constant timestamptz := greatest(clock_timestamp(),
    (select valid_from from webhook_versions where webhook_id = new.id and valid_to is null));
begin
  update webhook_versions set valid_to = changed_at where webhook_id = new.id and valid_to is null;
  insert into webhook_versions (webhook_id, active, events, filter_path, valid_from)
  values (new.id, new.active, new.events, new.filter_path, changed_at);
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.latency_bucket(ms integer)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  -- Each bucket ends 19 % above the one before it: bucket n holds latencies up to 2^(n/4) ms.
  select case when ms <= 1 then 0 else ceil(4 * ln(ms::float8) / ln(2::float8)) end::smallint
$function$

CREATE OR REPLACE FUNCTION orgdir.mark_events_of_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  update events e set hidden = true
  from old_rows o where e.audience = 'global' and e.org_id = o.id and not e.hidden and e.name = 'org.created';
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.mark_hidden_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  -- A lock, so that whoever lists it again comes later and sees this event; without waiting, so that fan-out does not either.
  new.hidden := exists (select from orgs where id = new.org_id and not listed for share skip locked)
    or not exists (select from orgs where id = new.org_id);
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.mark_hidden_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  has_changed boolean;
begin
  if not exists (select from old_rows where not listed) and not exists (select from new_rows where not listed) then
    return null;
  end if;
  -- Planned each time, and to its end: a plan for few rows, or for the first that differs, compares each row with each.
  execute 'select coalesce(bool_or(o.listed <> n.listed), false) from old_rows o join new_rows n using (id)' into has_changed;
  -- Otherwise every change of an organisation would lock the partitions of events.
  if has_changed then
    execute
      'update events e set hidden = not n.listed
       from old_rows o join new_rows n using (id)
       where o.listed <> n.listed and e.audience = ''global'' and e.org_id = n.id and e.hidden = n.listed
         and e.name = ''org.created''';
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.may_receive(audience text, event_org uuid, event_alliance uuid, event_created timestamp with time zone, org_listed boolean, bound_org uuid, bound_alliance uuid, bound_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case audience
    when 'global' then event_org is null or coalesce(org_listed, false)
    when 'organization' then coalesce(bound_org = event_org and bound_at <= event_created, false)
    when 'alliance' then coalesce(bound_alliance = event_alliance and bound_at <= event_created, false)
    when 'webhook' then true
    else false
  end
$function$

CREATE OR REPLACE FUNCTION orgdir.move_revision()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
declare
  changed_scope constant text := tg_argv[0];
  setting constant text := 'orgdir.moved_' || changed_scope;
  moved_to bigint;
begin
  -- Once per transaction and scope, however many rows it changed.
  if current_setting(setting, true) = pg_current_xact_id()::text then
    return null;
  end if;
  perform set_config(setting, pg_current_xact_id()::text, true);
  -- One lock for all scopes: transactions that touch several cannot wait for each other in a circle.
  perform pg_advisory_xact_lock(70420001);
  -- One row per kind, unless something was counted.
  if changed_scope in ('directory', 'blueprints') and (select count(*) > 3 from list_totals) then
    with folded as (delete from list_totals returning kind, entries)
    insert into list_totals select kind, sum(entries) from folded group by kind;
  end if;
  update revisions set revision = revision + 1 where scope = changed_scope returning revision into moved_to;
  if changed_scope in ('directory', 'blueprints') then
    -- Kept for 15 minutes from now, not from the start of the transaction: the changes of a long one could be removed before
    -- a process had read them.
    update search_changes set revision = moved_to, at = clock_timestamp()
    where revision is null and xid = pg_current_xact_id()
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_delivery_changes()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  if tg_op <> 'INSERT' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, -count(*)
    from old_rows group by webhook_id, event, status, hour, id_hour;
  end if;
  if tg_op <> 'DELETE' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries, durations, delays, by_failure)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, count(*),
      array_agg(first_outcome_ms) filter (where counts),
      -- Nothing ends before it begins, unless the database's clock was put back meanwhile, by weeks perhaps.
      array_agg(greatest(0, least(extract(epoch from completed_at - created_at) * 1000, 2147483647))::int) filter (where counts),
      nullif(count(*) filter (where counts and by_failure), 0)
    from (select *, tg_op = 'INSERT' and first_outcome_ms is not null as counts from new_rows) new_rows
    group by webhook_id, event, status, hour, id_hour;
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_entries(changed_kind text, changed uuid[], was_public boolean, is_public boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- That of the notes of this transaction: null, unless it has moved the revision before its end.
  own constant bigint :=
    (select revision from revisions where scope = changed_scope
     and current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text);
  unseen uuid[];
begin
  if was_public and not is_public then
    -- What only this transaction made public was never seen, so nobody may learn that it is gone.
    unseen := array(
      select each from search_changes c cross join unnest(c.entries) each
      where c.kind = changed_kind and c.xid = pg_current_xact_id() and c.was_public <> c.is_public and each = any(changed)
      group by each having sum(case when c.is_public then 1 else -1 end) > 0);
    if unseen <> '{}' then
      update search_changes c set entries = array(select each from unnest(entries) each where each <> all(unseen))
      where c.kind = changed_kind and c.xid = pg_current_xact_id() and entries && unseen;
      changed := array(select each from unnest(changed) each where each <> all(unseen));
    end if;
  end if;
  if cardinality(changed) > 0 then
    insert into search_changes (kind, revision, at, written, adjusted, entries, was_public, is_public, silent)
    values (changed_kind, own, clock_timestamp(), '{}', '{}', changed, was_public, is_public,
      coalesce(current_setting('orgdir.silent', true) = 'on', false));
  end if;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_entries_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  listed constant text := tg_argv[0];
begin
  if tg_op = 'INSERT' then
    execute format('select note_entries(%L, array_agg(id), false, true) from new_rows where %s', tg_table_name, listed);
  elsif tg_op = 'DELETE' then
    execute format('select note_entries(%L, array_agg(id), true, false) from old_rows where %s', tg_table_name, listed);
  else
    execute format(
      'select note_entries(%1$L, array_agg(id), was_public, is_public)
       from (
         select n.id, o.listed as was_public, n.listed as is_public
         from (select id, %2$s as listed, row(r.*)::%1$I as entry from new_rows r) n
         join (select id, %2$s as listed, row(r.*)::%1$I as entry from old_rows r) o on o.id = n.id
         where (o.listed or n.listed) and (o.listed <> n.listed or %3$I(o.entry, n.entry))
       ) as changed group by was_public, is_public', tg_table_name, listed, tg_argv[1]);
  end if;
  if tg_op = 'UPDATE' and tg_table_name = 'alliances' then
    -- Organisations contain these fields of their alliance.
    execute
      'select note_entries(''orgs'', array_agg(g.id), true, true)
       from new_rows n join old_rows o on o.id = n.id join orgs g on g.alliance_id = n.id and g.listed
       where (n.slug, n.name, n.tag) is distinct from (o.slug, o.name, o.tag)';
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_first_listing()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.first_listed_at := now();
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_position()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.after_position := coalesce((
    select position from events
    where position is not null and fanned_out_at < new.created_at
    order by position desc limit 1
  ), 0);
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_search_changes(changed_kind text, written integer[], adjusted integer[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- Set if the transaction has moved the revision before its end.
  moved constant boolean :=
    current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text;
begin
  if coalesce(cardinality(written), 0) + coalesce(cardinality(adjusted), 0) > 0 then
    insert into search_changes (kind, revision, at, written, adjusted)
    select changed_kind, case when moved then (select revision from revisions where scope = changed_scope) end,
      clock_timestamp(), coalesce(written, '{}'), coalesce(adjusted, '{}');
  end if;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_search_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from old_rows;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_search_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from new_rows;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_search_updated()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  execute
    'select note_search_changes($1, array_agg(n.ordinal) filter (where is_written),
       array_agg(n.ordinal) filter (where not is_written))
     from (
       select n.ordinal, (n.name_sort, n.search_text) is distinct from (o.name_sort, o.search_text) as is_written
       from new_rows n join old_rows o on o.id = n.id
     ) n' using tg_argv[0];
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.note_values_updated()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  execute format(
    'select note_search_changes(%1$L, null, array_agg(s.ordinal))
     from new_rows n join old_rows o on o.id = n.id join %2$I s on s.id = n.id
     where n is distinct from o', tg_table_name, 'searchable_' || tg_table_name);
  if tg_table_name = 'alliances' then
    -- Organisations are filtered and counted by the slug of their alliance.
    execute
      'select note_search_changes(''orgs'', null, array_agg(s.ordinal))
       from new_rows n join old_rows o on o.id = n.id
       join orgs g on g.alliance_id = n.id join searchable_orgs s on s.id = g.id
       where n.slug <> o.slug';
  end if;
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.org_differs(old orgs, new orgs)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'orgdir', 'public'
AS $function$
  select (new.slug, new.name, new.tag, new.aliases, new.description, new.primary_activity, new.secondary_activity,
      new.commitment, new.recruiting, new.language, new.timezone, new.location, new.member_count,
      new.logo_url, new.banner_url, new.links, new.alliance_id, new.verified, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.primary_activity, old.secondary_activity,
      old.commitment, old.recruiting, old.language, old.timezone, old.location, old.member_count,
      old.logo_url, old.banner_url, old.links, old.alliance_id, old.verified, old.status, old.founded_at)
$function$

CREATE OR REPLACE FUNCTION orgdir.passes_filter(filter_path jsonpath, name text, data jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select filter_path is null
    or coalesce(jsonb_path_match(coalesce(data, 'null'), filter_path, jsonb_build_object('event', name), true), false)
$function$

CREATE OR REPLACE FUNCTION orgdir.publish_event(name text, data json, org_slug text DEFAULT NULL::text, alliance_slug text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE sql
AS $function$
  select orgdir.publish_event(name, data::text, org_slug, alliance_slug)
$function$

CREATE OR REPLACE FUNCTION orgdir.publish_event(name text, data jsonb, org_slug text DEFAULT NULL::text, alliance_slug text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE sql
AS $function$
  select orgdir.publish_event(name, data::text, org_slug, alliance_slug)
$function$

CREATE OR REPLACE FUNCTION orgdir.publish_event(name text, data text DEFAULT NULL::text, org_slug text DEFAULT NULL::text, alliance_slug text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'orgdir', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  kind orgdir.event_kinds;
  needed text;
  given text;
  of_org uuid;
  of_alliance uuid;
  is_listed boolean;
  bytes constant integer := octet_length(publish_event.data);
  called_at constant timestamptz := clock_timestamp();
  new_id constant uuid := orgdir.uuid_v7(called_at);
  noun text;
begin
  select * into kind from orgdir.event_kinds k where k.name = publish_event.name;
  if not found then
    raise exception 'publish_event: there is no event %', coalesce(quote_literal(left(publish_event.name, 80)), 'null')
      using errcode = 'invalid_parameter_value', hint = (select 'Name one of ' || string_agg(k.name, ', ' order by k.name) || '.'
        from orgdir.event_kinds k where k.subject is not null);
  end if;
  if kind.subject is null then
    raise exception 'publish_event: % comes only from what it tells of, and cannot be published', kind.name
      using errcode = 'invalid_parameter_value', hint = 'The service records it itself; leave the call out.';
  end if;

  noun := case kind.subject when 'organization' then 'organisation' else 'alliance' end;
  if (case kind.subject when 'organization' then alliance_slug else org_slug end) is not null then
    raise exception 'publish_event: % is about an %, and % does not go with it', kind.name, noun,
      case kind.subject when 'organization' then 'alliance_slug' else 'org_slug' end
      using errcode = 'invalid_parameter_value', hint = format('Leave it null, and give %s.',
        case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end);
  end if;
  needed := case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end;
  given := case kind.subject when 'organization' then org_slug else alliance_slug end;
  if given is null then
    raise exception 'publish_event: % is about an %, and % is null', kind.name, noun, needed
      using errcode = 'invalid_parameter_value', hint = format('Give its slug, such as %s => ''acme-corporation''.', needed);
  end if;
  if kind.subject = 'organization' then
    select o.id, o.listed into of_org, is_listed from orgdir.orgs o where o.slug = given;
  else
    select a.id into of_alliance from orgdir.alliances a where a.slug = given;
  end if;
  if coalesce(of_org, of_alliance) is null then
    raise exception 'publish_event: there is no % %', noun, quote_literal(left(given, 80))
      using errcode = 'no_data_found', hint = 'Put it into the directory first, or give the slug that it has there.';
  end if;

  if not kind.supplied then
    if publish_event.data is not null then
      raise exception 'publish_event: the data of % is made by the service', kind.name
        using errcode = 'invalid_parameter_value', hint = 'Give null; everybody is told, so nothing private may come in.';
    end if;
    if not is_listed then
      raise exception 'publish_event: % is not listed, so it is not announced', given
        using errcode = 'invalid_parameter_value', hint = 'List it: that announces it by itself.';
    end if;
  else
    if publish_event.data is null then
      raise exception 'publish_event: % needs data: what happened, as a JSON object', kind.name
        using errcode = 'invalid_parameter_value', hint = 'The API reference shows what it holds, inside the ids and names that the service adds.';
    end if;
    if bytes > 65536 then
      raise exception 'publish_event: data has % bytes, and at most 65536 are taken', bytes
        using errcode = 'invalid_parameter_value', hint = 'Give an address where the rest can be read.';
    end if;
    begin
      perform publish_event.data::json;
    exception when invalid_text_representation then
      raise exception 'publish_event: data is not JSON' using errcode = 'invalid_parameter_value',
        hint = 'Build it with json_build_object, or check the text.';
    when statement_too_complex then
      raise exception 'publish_event: data is nested too deep' using errcode = 'invalid_parameter_value',
        hint = 'Give it fewer levels: no event has as many as sixteen.';
    end;
  end if;

  insert into orgdir.published_events (id, name, org_id, alliance_id, data, created_at)
  values (new_id, kind.name, of_org, of_alliance, publish_event.data, called_at);
  return new_id;
end $function$

CREATE OR REPLACE FUNCTION orgdir.queue_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 PARALLEL SAFE
AS $function$
  select clock_timestamp()
$function$

CREATE OR REPLACE FUNCTION orgdir.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  raise exception 'the audit log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $function$

CREATE OR REPLACE FUNCTION orgdir.set_password_link_purpose()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.creates_account := not exists (select from users where email = new.email);
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.settle_privileges()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
declare
  routine regprocedure;
begin
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and has_function_privilege('public', p.oid, 'execute')
      and pg_has_role(p.proowner, 'usage')
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
  if not exists (select from pg_roles where rolname = 'orgdir_publisher') then
    return;
  end if;
  if not has_schema_privilege('orgdir_publisher', 'orgdir', 'usage') then
    grant usage on schema orgdir to orgdir_publisher;
  end if;
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and p.proname = 'publish_event'
      and not has_function_privilege('orgdir_publisher', p.oid, 'execute')
  loop
    execute format('grant execute on function %s to orgdir_publisher', routine);
  end loop;
end $function$

CREATE OR REPLACE FUNCTION orgdir.start_binding_versions()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  insert into binding_versions (app_id) values (new.id);
  return null;
end $function$

CREATE OR REPLACE FUNCTION orgdir.takes_event(active boolean, events text[], name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    select active and case
      when events is null then name <> all('{org.updated,org.removed,alliance.updated,alliance.removed,blueprint.updated,blueprint.removed}'::text[])
      else name = any(events)
    end
  $function$

CREATE OR REPLACE FUNCTION orgdir.touch_alliance()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.updated_at := case when alliance_differs(old, new) then now() else old.updated_at end;
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.touch_blueprint()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.updated_at := case when blueprint_differs(old, new) then now() else old.updated_at end;
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.touch_org()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'orgdir', 'public'
AS $function$
begin
  new.updated_at := case when org_differs(old, new) then now() else old.updated_at end;
  return new;
end $function$

CREATE OR REPLACE FUNCTION orgdir.uuid_v7(at timestamp with time zone DEFAULT clock_timestamp())
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
AS $function$
  -- PostgreSQL has its own from 18 on; this one runs on 15.
  select orgdir.uuid_v7(at, gen_random_uuid())
$function$

CREATE OR REPLACE FUNCTION orgdir.uuid_v7(at timestamp with time zone, random uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  -- Uses "at" once, because PostgreSQL only inlines such a function. 48 + 12 bits of time, with the version in between.
  select (overlay(lpad(to_hex((extract(epoch from at) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
    || right(random::text, 17))::uuid
$function$

CREATE OR REPLACE FUNCTION orgdir.uuid_v7_floor(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  -- The smallest UUIDv7 of that millisecond: a partition's bound.
  select encode(overlay('\x00000000000000000000000000000000'::bytea
    placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
    'hex')::uuid
$function$

CREATE OR REPLACE FUNCTION orgdir.uuid_v7_hour(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select date_bin('1 hour', timestamptz 'epoch'
    + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 millisecond', 'epoch')
$function$

CREATE OR REPLACE FUNCTION orgdir.webhook_share(webhook uuid, total integer, place integer, workers integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select (total + (place + ('x' || right(webhook::text, 6))::bit(24)::integer) % workers) / workers
$function$
