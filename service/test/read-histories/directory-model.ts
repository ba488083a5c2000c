/** What was written into the directory, and what the public has seen of it: a model that knows no SQL and no index. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { privateOrgFields } from '../../src/contract/organisation.ts';
import type { ImportKind } from '../../src/directory/import.ts';
import { testPublicUrl } from '../support/service.ts';

export type Kind = ImportKind;
export const kinds = ['orgs', 'alliances', 'blueprints'] as const;

/** As it was written, public and private fields. */
export type Fields = Record<string, unknown> & { name: string };
/** What an entry is called. A deleted one keeps its slug, and may get it again. */
type Known = { slug: string; fields: Fields | null };
/** As the public sees it. */
export type Entry = Record<string, unknown> & { id: string; slug: string; name: string };
export type Entries = ReadonlyMap<string, Entry>;

/** What the database decides: ids and times. */
export type Stored = Record<Kind, Map<string, Pick<Entry, 'id'> & Record<string, unknown>>>;

/** What the public would see after a statement, and does if its transaction ends there. */
type Step = { entries: Record<Kind, Entries>; isCommitted: boolean };

const noLinks = { website: null, chat: null, video: null, social: null };

export class DirectoryModel {
  readonly known: Record<Kind, Known[]>;
  /** Every slug that was ever in use. */
  readonly slugs: Record<Kind, Set<string>>;
  readonly steps: Step[] = [
    {
      entries: { orgs: new Map(), alliances: new Map(), blueprints: new Map() },
      isCommitted: true,
    },
  ];
  #renames = 0;

  constructor(sizes: Record<Kind, number>) {
    const known = (kind: Kind) =>
      Array.from({ length: sizes[kind] }, (_, key) => ({
        slug: `${kind.slice(0, -1)}-${key}`,
        fields: null,
      }));
    this.known = {
      orgs: known('orgs'),
      alliances: known('alliances'),
      blueprints: known('blueprints'),
    };
    const slugs = (kind: Kind) => new Set(this.known[kind].map(({ slug }) => slug));
    this.slugs = {
      orgs: slugs('orgs'),
      alliances: slugs('alliances'),
      blueprints: slugs('blueprints'),
    };
  }

  get(kind: Kind, key: number): Known {
    const known = this.known[kind][key];
    assert.ok(known);
    return known;
  }

  /** A slug that nobody has had. */
  newSlug(kind: Kind, key: number): string {
    this.#renames += 1;
    const slug = `${kind.slice(0, -1)}-${key}-${this.#renames}`;
    this.slugs[kind].add(slug);
    return slug;
  }

  slugOfAlliance(key: unknown): string | null {
    const alliance = typeof key === 'number' ? this.get('alliances', key) : null;
    return alliance?.fields ? alliance.slug : null;
  }

  /** The public entries as of the last step. */
  entries(kind: Kind): Entry[] {
    return [...(this.steps.at(-1) as Step).entries[kind].values()];
  }

  /** The slugs in use that the public must not know. */
  hiddenSlugs(kind: Kind): string[] {
    const isPublic = new Set(this.entries(kind).map(({ slug }) => slug));
    return [...this.slugs[kind]].filter((slug) => !isPublic.has(slug));
  }

  /** After each statement. */
  addStep(stored: Stored): void {
    const before = this.steps.at(-1) as Step;
    const entries = this.#publicEntries(stored);
    for (const kind of kinds)
      for (const [id, entry] of entries[kind]) assertSameTime(before.entries[kind].get(id), entry);
    this.steps.push({ entries, isCommitted: false });
  }

  commit(): void {
    (this.steps.at(-1) as Step).isCommitted = true;
  }

  /** Whether these were the public entries after one of the transactions. */
  wasPublic(kind: Kind, entries: Entries): boolean {
    return this.steps.some(
      (step) => step.isCommitted && isDeepStrictEqual(step.entries[kind], entries),
    );
  }

  /** Whether the public could see a change since a step. */
  hasChanged(kind: Kind, step: number): boolean {
    return this.steps
      .slice(step + 1)
      .some(
        ({ entries }, at) =>
          differing(this.steps[step + at]?.entries[kind] ?? new Map(), entries[kind]).length > 0,
      );
  }

  /** Which entries must, and which may, be in the changes since a step. */
  changesSince(kind: Kind, step: number) {
    const now = new Map(this.entries(kind).map((entry) => [entry.id, entry]));
    const then = this.steps[step]?.entries[kind] ?? new Map<string, Entry>();
    const wasPublic = new Set<string>();
    const wasTouched = new Set<string>();
    for (let at = step; at < this.steps.length; at += 1) {
      const { entries, isCommitted } = this.steps[at] as Step;
      if (isCommitted) for (const id of entries[kind].keys()) wasPublic.add(id);
      const before = at > step ? this.steps[at - 1]?.entries[kind] : undefined;
      if (before) for (const id of differing(before, entries[kind])) wasTouched.add(id);
    }
    return {
      mustChange: differing(then, now).filter((id) => now.has(id)),
      mayChange: new Set([...wasTouched].filter((id) => now.has(id))),
      mustGo: [...then.keys()].filter((id) => !now.has(id)),
      mayGo: new Set([...wasPublic].filter((id) => !now.has(id))),
      entries: now,
    };
  }

  #publicEntries(stored: Stored): Record<Kind, Entries> {
    const present = (kind: Kind) =>
      this.known[kind].flatMap(({ slug, fields }, key) => (fields ? [{ key, slug, fields }] : []));
    const orgs = present('orgs').filter(({ fields }) => fields['listed']);
    return {
      orgs: byId(orgs.map((each) => this.#toOrg(each, stored))),
      alliances: byId(present('alliances').map((each) => toAlliance(each, orgs, stored))),
      blueprints: byId(present('blueprints').map((each) => toBlueprint(each, stored))),
    };
  }

  #toOrg({ slug, fields }: Present, stored: Stored): Entry {
    const shown = Object.entries(fields).filter(([name]) => !(name in privateOrgFields));
    return {
      ...storedOf(stored, 'orgs', slug),
      slug,
      ...unwritten,
      commitment: null,
      timezone: null,
      ...(Object.fromEntries(shown) as Fields),
      alliance: this.#reference(fields['alliance'], stored),
      url: `${testPublicUrl}/api/v1/orgs/${slug}`,
    };
  }

  #reference(key: unknown, stored: Stored) {
    const slug = this.slugOfAlliance(key);
    if (slug === null) return null;
    const { name, tag } = this.get('alliances', key as number).fields as Fields;
    return { id: storedOf(stored, 'alliances', slug).id, slug, name, tag };
  }
}

type Present = { key: number; slug: string; fields: Fields };

/** Fields that no edit writes. */
const unwritten = { logoUrl: null, bannerUrl: null, links: noLinks, foundedAt: null };

function toAlliance({ key, slug, fields }: Present, orgs: Present[], stored: Stored): Entry {
  const members = orgs.filter((org) => org.fields['alliance'] === key);
  return {
    ...storedOf(stored, 'alliances', slug),
    slug,
    ...unwritten,
    ...fields,
    orgCount: members.length,
    memberCount: members.reduce((sum, org) => sum + Number(org.fields['memberCount']), 0),
    url: `${testPublicUrl}/api/v1/alliances/${slug}`,
  };
}

function toBlueprint({ slug, fields }: Present, stored: Stored): Entry {
  const empty = { description: null, craftTimeSeconds: null, sources: [] };
  return { ...storedOf(stored, 'blueprints', slug), slug, ...empty, ...fields };
}

function storedOf(stored: Stored, kind: Kind, slug: string) {
  return stored[kind].get(slug) ?? assert.fail(`${slug} is not in the database`);
}

function byId(entries: Entry[]): Entries {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** The ids of entries that are in one of both only, or not the same. */
function differing(before: Entries, after: Entries): string[] {
  const ids = new Set([...before.keys(), ...after.keys()]);
  return [...ids].filter((id) => JSON.stringify(before.get(id)) !== JSON.stringify(after.get(id)));
}

/** `updatedAt` would tell of changes that the public must not notice. */
function assertSameTime(before: Entry | undefined, after: Entry): void {
  if (!before) return;
  const { updatedAt: from, ...old } = before;
  const { updatedAt: to, ...now } = after;
  if (JSON.stringify(old) === JSON.stringify(now)) assert.equal(to, from, `${after.slug} changed`);
}
