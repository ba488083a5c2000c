import { Alert, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import {
  severities,
  severityLabels,
  type Severity,
} from '../../../service/src/contract/announcement.ts';
import { status } from '../api/public-api.ts';
import { Time } from '../ui/time.tsx';

const colors: Record<Severity, string> = { info: 'blue', warning: 'yellow', critical: 'red' };

/** A later version of the service may have others. */
function known(severity: string): Severity {
  return severities.find((each) => each === severity) ?? 'info';
}

/** What the operator announces, on every page. */
export function Announcements() {
  const announcements = useQuery(status()).data?.announcements ?? [];
  return announcements.map(({ id, severity, text, startsAt, endsAt }) => (
    <Alert
      key={id}
      color={colors[known(severity)]}
      title={severityLabels[known(severity)]}
      mb="lg"
      role="status"
    >
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
