/**
 * Exports organisations, alliances or blueprints as lines for `import.ts`, with private fields and managers. They come
 * in the order of creation, so that an import creates them in the same order.
 */
import { stringify } from 'csv-stringify/sync';
import type { TSchema } from 'typebox';
import { managedAllianceFields } from '../contract/alliance.ts';
import { blueprintFields } from '../contract/blueprint.ts';
import type { Fields } from '../contract/field.ts';
import { managedOrgFields } from '../contract/organisation.ts';
import { type Transaction, sql } from '../database/database.ts';
import type { ImportKind } from './import.ts';
import type { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';
import type { Sql } from './list.ts';
import { asText, listSeparator } from './read-csv.ts';
import { type Row, rowReader, writableFields } from './rows.ts';

type ExportedLine = OrgInput | AllianceInput | BlueprintInput;

/** Rows in memory at once; a blueprint may have some hundred kilobytes. */
const batchSize = 200;

/**
 * Yields everything of one kind that the caller's transaction sees, in batches. If the caller stops early, the cursor
 * ends with the transaction.
 */
export async function* exportLines(
  tx: Transaction,
  kind: ImportKind,
): AsyncGenerator<ExportedLine[]> {
  const { select, toLine } = sources[kind];
  await sql`declare exported no scroll cursor for ${select} order by t.created_at, t.id`.execute(
    tx,
  );
  for (;;) {
    const { rows } =
      await sql<Row>`fetch forward ${sql.raw(String(batchSize))} from exported`.execute(tx);
    if (rows.length === 0) break;
    yield rows.map(toLine);
  }
  await sql`close exported`.execute(tx);
}

const sources: Record<ImportKind, { select: Sql; toLine: (row: Row) => ExportedLine }> = {
  orgs: {
    select: sql`
      select t.*, a.slug as alliance,
        array(select email from org_managers where org_id = t.id order by email) as managers
      from orgs t left join alliances a on a.id = t.alliance_id
    `,
    toLine: lineReader(managedOrgFields),
  },
  alliances: {
    select: sql`
      select t.*, array(select email from alliance_managers where alliance_id = t.id order by email) as managers
      from alliances t
    `,
    toLine: lineReader(managedAllianceFields),
  },
  blueprints: {
    select: sql`select t.* from blueprints t`,
    toLine: lineReader(blueprintFields),
  },
};

/** The fields that an import accepts. Fields without a column are in the row under their own names. */
function lineReader(fields: Fields): (row: Row) => ExportedLine {
  const read = rowReader<ExportedLine>(writableFields(fields));
  return (row) => read(row, row);
}

/** The columns of a schema, in its order. */
export function csvColumns(schema: TSchema): string[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, field]) => {
    const inner = Object.keys(propertiesOf(field));
    return inner.length === 0 ? [name] : inner.map((each) => `${name}.${each}`);
  });
}

function propertiesOf(schema: TSchema): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> }).properties ?? {};
}

/**
 * The lines without the header. Null and an empty list become an empty cell, which an import reads as left out. Text that a
 * spreadsheet would compute, as a formula or a number, gets an apostrophe, which an import takes away.
 */
export function toCsv(entries: object[], columns: string[]): string {
  return stringify(entries, {
    columns,
    cast: {
      boolean: String,
      string: asText,
      object: (words, { column }) =>
        asText(Object.values(words).join(listSeparator(String(column)))),
    },
    // Some programs trim such cells unless they are quoted.
    quoted_match: /^\s|\s$/,
  });
}
