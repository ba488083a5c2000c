import { Group, Text } from '@mantine/core';
import type { PortalAuditEntry } from '../api/types.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { SmallFold } from '../ui/fold.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { useTimes } from '../ui/times.tsx';
import { describeDetails } from './describe-details.ts';
import { describeEntry } from './describe-entry.ts';

/** One entry of the audit log. A deleted app has no page, so its name links to its entries. */
export function AuditEntry({ entry }: { entry: PortalAuditEntry }) {
  const { appId, appName, appDeleted } = entry;
  const times = useTimes();
  const { who, did } = describeEntry(entry);
  return (
    <li>
      <Text>
        <strong>{who}</strong> {did}
      </Text>
      <Group gap="2px 16px" align="baseline">
        <Note>
          <Time at={entry.at} />
        </Note>
        <Note>
          App:{' '}
          <PageLink to={appDeleted ? `/audit?app=${appId}` : `/apps/${appId}`}>
            {appDeleted ? `${appName} (deleted)` : appName}
          </PageLink>
        </Note>
        <SmallFold title="Details">
          <DescriptionList entries={describeDetails(entry, times)} layout="line" />
        </SmallFold>
      </Group>
    </li>
  );
}
