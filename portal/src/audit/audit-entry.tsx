import { Anchor, Group, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalAuditEntry } from '../api/types.ts';
import { Terms } from '../shown/terms.tsx';
import { Time } from '../shown/time.tsx';
import { describeEntry } from './describe-entry.ts';
import { describeDetails } from './describe-details.ts';
import classes from './audit.module.css';

/** What was done, when, to which app, and what more is known of it. */
export function AuditEntry({ entry, appName }: { entry: PortalAuditEntry; appName: string }) {
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
          <Anchor component={Link} to={`/apps/${entry.appId}`} inherit>
            {appName}
          </Anchor>
        </Text>
        <details className={classes['details']}>
          <summary>Details</summary>
          <Terms entries={details} layout="line" />
        </details>
      </Group>
    </li>
  );
}
