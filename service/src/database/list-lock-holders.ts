/** Names the sessions and prepared transactions that hold locks on tables of the service, the oldest first. */
import { sql, type Database } from './database.ts';

const holdersMax = 5;

/** `4711 (psql, idle in transaction, transaction open for 45 s)`. Without `tables`, on any of them. */
export async function listLockHolders(
  database: Database,
  tables: readonly string[] | null = null,
): Promise<string> {
  const { rows } = await sql<{ holder: string }>`
    with granted as materialized (select pid, virtualtransaction, transactionid, relation from pg_locks where granted),
    locked as materialized (
      select l.pid, l.virtualtransaction
      from granted l join pg_class c on c.oid = l.relation
      where c.relnamespace = 'orgdir'::regnamespace and l.pid is distinct from pg_backend_pid()
        and (${tables}::text[] is null or c.relname = any(${tables}::text[]))
    )
    select holder from (
      select a.xact_start as since, format('%s (%s, %s, transaction open for %s s)', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'),
        coalesce(a.state, 'of another user'), round(extract(epoch from clock_timestamp() - a.xact_start))) as holder
      from pg_stat_activity a where a.datname = current_database() and a.pid in (select pid from locked)
      union all
      select prepared, format('prepared transaction %L, open for %s s', gid, round(extract(epoch from clock_timestamp() - prepared)))
      from pg_prepared_xacts p
      where database = current_database() and exists (
        select from granted g join locked l using (virtualtransaction)
        where g.pid is null and l.pid is null and g.transactionid = p.transaction
      )
    ) holders
    order by since limit ${sql.lit(holdersMax)}
  `.execute(database);
  return rows.map(({ holder }) => holder).join(', ');
}
