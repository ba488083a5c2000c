import { Alert, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Wrench } from '../ui/icons.tsx';
import { status } from '../api/public-api.ts';
import { Time } from '../ui/time.tsx';

/** Shown on every page during maintenance: apps cannot be changed, but the user's account can. */
export function MaintenanceBanner() {
  const maintenance = useQuery(status()).data?.maintenance;
  if (!maintenance) return null;
  const { message, since, expectedEnd } = maintenance;
  return (
    <Alert
      color="yellow"
      icon={<Wrench size={18} aria-hidden />}
      title="Maintenance: your apps cannot be changed right now"
      mb="lg"
      role="status"
    >
      <Text size="sm">
        {message && <>{message} </>}
        Started <Time at={since} exact />
        {expectedEnd && (
          <>
            {' '}
            and is expected to end <Time at={expectedEnd} exact />
          </>
        )}
        . Deliveries continue; the API is available again afterwards.
      </Text>
    </Alert>
  );
}
