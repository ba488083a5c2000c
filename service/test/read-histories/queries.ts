/** Random requests for lists. */
import fc from 'fast-check';
import { blueprintFacets, orgFacets } from '../../src/directory/list-query.ts';
import { kinds, type Kind } from './directory-model.ts';
import { activities, categories, languages, locations, privateWord, tags, words } from './edits.ts';
import type { ListQuery } from './expected-pages.ts';

const search = fc.oneof(
  fc.constantFrom(...words),
  fc.constantFrom('o', 'e', 'about', 'org', '-', 'org-1', 'Polished', privateWord, 'example'),
  // Other spellings, typing errors, and what only a relaxed search finds.
  fc.constantFrom('loewe', 'ltd', 'nokai', 'siemns', 'utking', 'foxes', 'kong', 'redfox gmbh'),
  fc
    .tuple(fc.constantFrom(...words), fc.constantFrom(...words, 'official'))
    .map((two) => two.join(' ')),
);
const flags = ['true', 'false'];
const members = { memberCountMin: ['0', '1', '8'], memberCountMax: ['0', '7', '299'] };
const filters: Record<Kind, Record<string, string[]>> = {
  orgs: {
    slug: ['org-0', 'org-1', 'org-2', 'org-3', 'nobody'],
    alliance: ['alliance-0', 'alliance-1', 'nobody'],
    activity: [...activities, 'salvage'],
    language: [...languages, 'PT-br'],
    tag: [...tags, 'lowe', 'nk'],
    location: [...locations, 'koln'],
    status: ['active', 'closed'],
    verified: flags,
    recruiting: flags,
    ...members,
  },
  alliances: {
    slug: ['alliance-0', 'alliance-1', 'nobody'],
    tag: tags,
    status: ['active', 'disbanded'],
    recruiting: flags,
    ...members,
  },
  blueprints: {
    slug: ['blueprint-0', 'blueprint-1', 'nobody'],
    category: categories,
    active: flags,
    ingredient: ['granite', 'POLISHED DIORITE'],
  },
};
const single = ['verified', 'recruiting', 'active', 'memberCountMin', 'memberCountMax'];
const facets: Record<Kind, readonly string[]> = {
  orgs: orgFacets,
  alliances: [],
  blueprints: blueprintFacets,
};
const sorts = ['name', 'createdAt', 'updatedAt'].flatMap((field) => [field, `-${field}`]);
const sortsByMembers = [...sorts, 'memberCount', '-memberCount'];

export const query: fc.Arbitrary<ListQuery & { kind: Kind }> = fc
  .constantFrom<Kind>(...kinds, 'orgs', 'orgs', 'orgs')
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      search: fc.option(search, { nil: undefined }),
      filters: fc.oneof(fc.constant<[string, string][]>([]), filtersOf(kind)),
      sort: fc.option(fc.constantFrom(...(kind === 'blueprints' ? sorts : sortsByMembers)), {
        nil: undefined,
      }),
      facets: fc.subarray([...facets[kind]]),
      page: fc.constantFrom(1, 1, 2),
      limit: fc.constantFrom(1, 3, 100),
    }),
  );

/** Up to two filters, those that may be repeated with up to two values. */
function filtersOf(kind: Kind): fc.Arbitrary<[string, string][]> {
  return fc
    .subarray(Object.keys(filters[kind]), { minLength: 1, maxLength: 2 })
    .filter((names) => names.join() !== 'memberCountMin,memberCountMax')
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc
            .subarray(filters[kind][name] ?? [], {
              minLength: 1,
              maxLength: single.includes(name) ? 1 : 2,
            })
            .map((values) => values.map((value): [string, string] => [name, value])),
        ),
      ),
    )
    .map((chosen) => chosen.flat());
}
