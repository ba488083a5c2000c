import { Alert, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { status } from '../api/public-api.ts';
import { Time } from '../ui/time.tsx';

const looks: Record<string, { color: string; title: string }> = {
  info: { color: 'blue', title: 'Announcement' },
  warning: { color: 'yellow', title: 'Warning' },
  critical: { color: 'red', title: 'Important' },
};

/** What the operator announces, on every page. */
export function Announcements() {
  const announcements = useQuery(status()).data?.announcements ?? [];
  return announcements.map(({ id, severity, text, startsAt, endsAt }) => (
    <Alert key={id} {...(looks[severity] ?? looks['info'])} mb="lg" role="status">
      <Text size="sm">
        {text}
        {startsAt && (
          <>
            {' '}
            From <Time at={startsAt} exact />.
          </>
        )}
        {endsAt && (
          <>
            {' '}
            Until <Time at={endsAt} exact />.
          </>
        )}
      </Text>
    </Alert>
  ));
}
