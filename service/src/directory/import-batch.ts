/** Checks a batch of an import against the database, and gives it slugs. `import.ts` has checked each line alone. */
import type { Transaction } from '../database/database.ts';
import { allianceIds } from './alliances.ts';
import { blueprintKeys, blueprintSlugs, findBlueprint } from './blueprints.ts';
import { type SlugAllocator, describeReservation, reservedSlugs } from './slug.ts';
import type { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';
import type { SlugTable } from './lock-directory.ts';

export type Input = OrgInput & AllianceInput & BlueprintInput;
export type Accepted = { line: number; input: Input };
type Known = Input & { line: number; allianceId: string | null };
export type Named = Known & { slug: string };
type Refuse = (line: number, reason: string) => null;

/** Returns the valid lines with the ids that they refer to. */
export async function checkBatch(
  tx: Transaction,
  kind: SlugTable,
  batch: Accepted[],
  refuse: Refuse,
): Promise<Known[]> {
  return withoutHeldSlugs(tx, kind, await checks[kind](tx, batch, refuse), refuse);
}

const checks: Record<
  SlugTable,
  (tx: Transaction, batch: Accepted[], refuse: Refuse) => Promise<Known[]>
> = {
  orgs: withKnownAlliances,
  alliances: async (_, batch) => batch.map(toKnown),
  blueprints: withFreeSlugs,
};

function toKnown({ line, input }: Accepted): Known {
  return { ...input, line, allianceId: null };
}

/** A blueprint is identified by its key, so a slug in the file may belong to another blueprint. */
async function withFreeSlugs(tx: Transaction, batch: Accepted[], refuse: Refuse): Promise<Known[]> {
  const owners = await blueprintKeys(
    tx,
    batch.flatMap(({ input }) => input.slug ?? []),
  );
  return batch.map(toKnown).filter(({ line, slug, key }) => {
    const owner = slug === null ? undefined : owners.get(slug);
    if (owner === undefined || owner === key) return true;
    refuse(line, `slug ${slug} belongs to the blueprint ${owner}`);
    return false;
  });
}

async function withKnownAlliances(
  tx: Transaction,
  batch: Accepted[],
  refuse: Refuse,
): Promise<Known[]> {
  const wanted = [
    ...new Set(batch.flatMap(({ input }) => (input.alliance === null ? [] : [input.alliance]))),
  ];
  const ids = await allianceIds(tx, wanted);
  return batch.flatMap(({ line, input }): Known[] => {
    if (input.alliance === null) return [toKnown({ line, input })];
    const allianceId = ids.get(input.alliance);
    if (allianceId !== undefined) return [{ ...input, line, allianceId }];
    refuse(line, `alliance ${input.alliance} does not exist; import the alliances first`);
    return [];
  });
}

/**
 * A slug that another entry had recently is refused, because its former owner may take it back. Only blueprints have a
 * key that identifies the former owner.
 */
async function withoutHeldSlugs(
  tx: Transaction,
  kind: SlugTable,
  inputs: Known[],
  refuse: Refuse,
): Promise<Known[]> {
  const held = await reservedSlugs(
    tx,
    kind,
    inputs.flatMap(({ slug }) => slug ?? []),
  );
  if (held.size === 0) return inputs;
  const free: Known[] = [];
  for (const input of inputs) {
    const hold = input.slug === null ? undefined : held.get(input.slug);
    const own = hold && kind === 'blueprints' ? await findBlueprint(tx, input.key) : null;
    if (!hold || own?.id === hold.entryId) free.push(input);
    else refuse(input.line, describeReservation(input.slug ?? '', hold));
  }
  return free;
}

/** Gives a slug to every input that has none; an existing blueprint keeps its slug. */
export async function nameAll(
  tx: Transaction,
  kind: SlugTable,
  slugs: SlugAllocator,
  inputs: Known[],
): Promise<Named[]> {
  const existing =
    kind === 'blueprints'
      ? await blueprintSlugs(
          tx,
          inputs.map(({ key }) => key),
        )
      : new Map<string, string>();
  const chosen = inputs.map((input) => input.slug ?? existing.get(input.key) ?? null);
  slugs.reserve(chosen.filter((slug) => slug !== null));
  const made = await slugs.allocate(
    inputs.filter((_, index) => chosen[index] === null).map(({ name }) => name),
  );
  return inputs.map((input, index) => ({
    ...input,
    slug: chosen[index] ?? (made.shift() as string),
  }));
}
