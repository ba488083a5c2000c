/** The other names of organisations and alliances: those that a write keeps, and a name that becomes one. */
import { aliasPattern } from '../contract/patterns.ts';
import { aliasesMax, aliasLengthMax } from '../contract/shared-fields.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid } from '../errors.ts';

type Named = { slug: string; aliases?: string[] };

/** Fills in the aliases of entries that are written without: they keep theirs. Call it under the lock of the table. */
export async function withStoredAliases<Input extends Named>(
  tx: Transaction,
  kind: 'orgs' | 'alliances',
  inputs: Input[],
): Promise<(Input & { aliases: string[] })[]> {
  const slugs = inputs.filter(({ aliases }) => !aliases).map(({ slug }) => slug);
  const stored = slugs.length === 0 ? null : await readAliases(tx, kind, slugs);
  return inputs.map((input) => ({
    ...input,
    aliases: input.aliases ?? stored?.get(input.slug) ?? [],
  }));
}

async function readAliases(
  tx: Transaction,
  kind: 'orgs' | 'alliances',
  slugs: string[],
): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ slug: string; aliases: string[] }>`
    select slug, aliases from ${sql.table(kind)} where slug = any(${slugs}::text[]) and aliases <> '[]'
  `.execute(tx);
  return new Map(rows.map(({ slug, aliases }) => [slug, aliases]));
}

type Renamed = { name: string; aliases?: string[] };

/** Keeps a name that a write changes as an alias, if it asks for that. Throws `validation_failed` if it cannot be one. */
export function withFormerName<Input extends Renamed>(
  input: Input,
  before: { name: string; aliases: string[] } | null,
  { keepName }: { keepName?: boolean },
): Input {
  if (!before || !keepName || before.name === input.name) return input;
  const { name, aliases = before.aliases } = input;
  const former = before.name.trim();
  const kept = new Set([...aliases, former]);
  kept.delete(name);
  if (kept.size > aliasesMax) throw refused(`there are ${aliasesMax} aliases already; remove one`);
  if (!new RegExp(aliasPattern, 'u').test(former))
    throw refused('the former name has a bar (|), which no alias may have');
  if (former.length > aliasLengthMax)
    throw refused(`the former name has more than the ${aliasLengthMax} characters of an alias`);
  return { ...input, aliases: [...kept] };
}

function refused(message: string): Error {
  return invalid({ path: 'query.keepName', message });
}
