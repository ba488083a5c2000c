/** The database's schema as text, the same from PostgreSQL 15 to 18: what the migrations amount to. */
import { sql, type Database } from '../../src/database/database.ts';

/** Partitions are left out: they come and go with the days. */
export async function describeSchema(database: Database): Promise<string> {
  const tables = await lines(
    database,
    sql`
    select format(E'table %s%s\n%s', c.relname,
      case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end,
      (select string_agg(format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod)
            || case when co.collname is null or co.collname = 'default' then '' else ' collate ' || co.collname end,
          case when a.attnotnull then ' not null' else '' end,
          coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')), E'\n' order by a.attnum)
       from pg_attribute a
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       left join pg_collation co on co.oid = a.attcollation
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
      || coalesce((select E'\n' || string_agg('  ' || con.conname || ': ' || pg_get_constraintdef(con.oid), E'\n' order by con.conname)
       from pg_constraint con where con.conrelid = c.oid and con.contype in ('p', 'u', 'c', 'f')), '')
      || coalesce((select E'\n' || string_agg('  ' || pg_get_indexdef(i.indexrelid), E'\n' order by x.relname)
       from pg_index i join pg_class x on x.oid = i.indexrelid
       where i.indrelid = c.oid and not exists (select from pg_constraint con where con.conindid = i.indexrelid and con.contype in ('p', 'u'))), '')
      || coalesce((select E'\n' || string_agg('  ' || pg_get_triggerdef(t.oid), E'\n' order by t.tgname)
       from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal), '')) as line
    from pg_class c
    where c.relnamespace = 'orgdir'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname
  `,
  );
  const functions = await lines(
    database,
    sql`
    select pg_get_functiondef(p.oid) as line from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by p.proname, pg_get_function_identity_arguments(p.oid) collate "C"
  `,
  );
  return `-- What the migrations amount to. Written by: npm run schema\n\n${[...tables, ...functions].join('\n\n')}\n`;
}

async function lines(database: Database, query: ReturnType<typeof sql>): Promise<string[]> {
  const { rows } = await (query as ReturnType<typeof sql<{ line: string }>>).execute(database);
  return rows.map(({ line }) => line.trimEnd());
}
