import { SegmentedControl, Stack } from '@mantine/core';
import { entries, type ListedEntry } from '../api/operations.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { SearchField, useChoice } from './choices.tsx';
import type { EntryKind } from './entry-fields.ts';
import { TablePage } from './table-page.tsx';

const limit = 25;

const kindLabels: Record<EntryKind, string> = {
  orgs: 'Organisations',
  alliances: 'Alliances',
  blueprints: 'Blueprints',
};
const kinds = Object.keys(kindLabels) as EntryKind[];

export function kindIn(text: string | undefined): EntryKind | undefined {
  return kinds.find((each) => each === text);
}

/** While another kind loads, the table still shows entries of the kind before. */
function kindOf({ key, listed }: ListedEntry): EntryKind {
  if (key !== undefined) return 'blueprints';
  return listed === undefined ? 'alliances' : 'orgs';
}

export function DirectoryPage() {
  const [chosen, choose] = useChoice('kind');
  const [search] = useChoice('search');
  const kind = kindIn(chosen) ?? 'orgs';
  const isOrg = kind === 'orgs';
  return (
    <TablePage
      title="Directory"
      lead="Every organisation, alliance and blueprint, listed or not, by name or by how well it matches."
      filter={
        <Stack gap="sm" align="flex-start">
          <SegmentedControl
            size="xs"
            aria-label="Kind of entry"
            value={kind}
            onChange={choose}
            data={kinds.map((value) => ({ value, label: kindLabels[value] }))}
          />
          <SearchField label="Search" />
        </Stack>
      }
      read={(page) => entries(kind, { page, limit, search })}
      columns={[
        'Name',
        isOrg || kind === 'alliances' ? 'Slug' : 'Key',
        ...(isOrg ? ['Listed'] : []),
        'Changed',
      ]}
      none={search === '' ? 'There are none yet.' : 'Nothing matches. Try fewer or other words.'}
      row={(entry) => {
        const { id, name, slug, key, listed, updatedAt } = entry;
        return {
          key: id,
          cells: [
            <PageLink
              key="name"
              to={`/directory/${kindOf(entry)}/${encodeURIComponent(key ?? slug)}`}
            >
              {name}
            </PageLink>,
            key ?? slug,
            ...(isOrg ? [listed === false ? 'No' : 'Yes'] : []),
            <Time key="changed" at={updatedAt} />,
          ],
        };
      }}
    />
  );
}
