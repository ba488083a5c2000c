import { Anchor, Group, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalAuditEntry } from '../api/types.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { Time } from '../ui/time.tsx';
import { describeEntry } from './describe-entry.ts';
import { describeDetails } from './describe-details.ts';
import classes from './audit.module.css';

/** One entry of the audit log. A deleted app has no page, so its name links to its entries. */
export function AuditEntry({ entry }: { entry: PortalAuditEntry }) {
  const { appId, appName, appDeleted } = entry;
  const { who, did } = describeEntry(entry);
  const details = describeDetails(entry);
  return (
    <li className={classes['entry']}>
      <Text>
        <strong>{who}</strong> {did}
      </Text>
      <Group gap="2px 16px" align="baseline">
        <Text size="sm" c="dimmed">
          <Time at={entry.at} />
        </Text>
        <Text size="sm">
          <Text span inherit c="dimmed">
            App:{' '}
          </Text>
          <Anchor
            component={Link}
            to={appDeleted ? `/audit?app=${appId}` : `/apps/${appId}`}
            inherit
          >
            {appDeleted ? `${appName} (deleted)` : appName}
          </Anchor>
        </Text>
        <details className={classes['details']}>
          <summary>Details</summary>
          <DescriptionList entries={details} layout="line" />
        </details>
      </Group>
    </li>
  );
}
