/**
 * The PostgreSQL settings of every connection. Those of the role and of the database have no effect on the service: they
 * would change how values are read and how statements behave. Only `default_transaction_read_only` is theirs to decide.
 * Whoever makes a database read-only, as before it moves to another server, must not lose what is written afterwards, so the
 * service treats it as a standby.
 */

/** Without a pooler they are made when a connection starts; a pooler makes them in its `connect_query`. */
export const sessionSettings = {
  // All tables are in one schema, so that a platform can keep its own tables in the same database.
  search_path: 'orgdir, public',
  timezone: 'UTC',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  client_min_messages: 'notice',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  plan_cache_mode: 'auto',
  lock_timeout: '0',
  idle_session_timeout: '0',
  // More than the slowest measured read, much less than a client waits.
  statement_timeout: '15s',
  // A process that freezes between two statements must not keep its locks while it is frozen.
  idle_in_transaction_session_timeout: '5s',
};

/**
 * These cost nothing but time, so a pooler that was set up for an earlier release may lack them; the doctor says so. A statement
 * over weeks of partitions takes PostgreSQL seconds to compile, often ten times as long as to run, and no time-out ends that.
 */
export const speedSettings = { jit: 'off' };

/**
 * A server notices within 15 s that a client has vanished, as a client notices by `keepAliveInitialDelayMillis`: by
 * default it keeps the locks of a machine that was cut off for two hours.
 */
const keepAliveSettings = {
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '10',
  tcp_user_timeout: '15000',
};

/** All settings of a connection without a pooler, as its `options`. `own` are those in which it differs. */
export function formatOptions(own: Record<string, string> = {}): string {
  return Object.entries({ ...sessionSettings, ...speedSettings, ...keepAliveSettings, ...own })
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', String.raw`\ `)}`)
    .join(' ');
}

/** Those of `own` that a pooler does not make. */
export function listOwn(own: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(own).filter(
      ([name, value]) => (sessionSettings as Record<string, string>)[name] !== value,
    ),
  );
}
