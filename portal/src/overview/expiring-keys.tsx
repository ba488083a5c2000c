import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { ExpiringKey } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { Attention } from './attention.tsx';

export function ExpiringKeys({ keys }: { keys: ExpiringKey[] }) {
  return (
    <Attention
      title="Expiring keys"
      nothing="No keys expire within 14 days."
      entries={keys.map(({ keyId, appId, appName, name, last4, expiresAt }) => (
        <li key={keyId}>
          <Anchor component={Link} to={`/apps/${appId}/keys`}>
            {name} (…{last4})
          </Anchor>{' '}
          <Text span c="dimmed" size="sm">
            of {appName}
          </Text>
          <Text size="sm">
            Expires <Time at={expiresAt} />. Rotate it before then.
          </Text>
        </li>
      ))}
    />
  );
}
