/** The top of the overview: webhooks that fail or are deactivated, and keys that expire. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { expiresSoonDays } from '../../../service/src/contract/periods.ts';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { apps } from '../api/operations.ts';
import type { ExpiringKey, LastError, Overview, TroubledWebhook } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { writeFilters } from '../deliveries/filters.ts';
import type { OpensRecovery } from '../deliveries/recover.tsx';
import { nameOfKey } from '../keys/key-state.ts';
import { describeAttempt, errorLabels } from '../ui/describe-attempt.ts';
import { formatCount } from '../ui/format-count.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { deactivationReasons, describeFailures } from '../webhooks/describe-webhook.ts';

export function NeedsAttention({ webhooks, keys }: Pick<Overview, 'webhooks' | 'keys'>) {
  const isEmpty = webhooks.length + keys.length === 0;
  return (
    <Section title="Needs attention">
      {isEmpty ? (
        <Text c="dimmed">
          Nothing. No webhook fails, and no key expires within {expiresSoonDays} days.
        </Text>
      ) : (
        <ul className="plain-list">
          {webhooks.map((webhook) => (
            <TroubledEntry key={webhook.webhookId} webhook={webhook} />
          ))}
          {keys.map((key) => (
            <ExpiringEntry key={key.keyId} apiKey={key} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function TroubledEntry({ webhook }: { webhook: TroubledWebhook }) {
  const { appId, webhookId, appName, host, description, state, reason, lastError, unsent } =
    webhook;
  const { data: own } = useQuery(apps());
  const app = own?.entries.find(({ id }) => id === appId);
  const page = `/apps/${appId}/webhooks/${webhookId}/deliveries`;
  const isByOwner = state === 'deactivated' && reason === 'owner';
  const from = webhook.failingSince ?? webhook.since;
  const failures = `${page}?${writeFilters({ status: 'failed' })}`;
  return (
    <Alert
      component="li"
      role="listitem"
      color={isByOwner ? 'gray' : 'red'}
      variant={isByOwner ? 'outline' : 'light'}
      title={
        <>
          <PageLink to={page}>{description ?? host}</PageLink> of {appName}:{' '}
          {describeState(webhook)}
        </>
      }
    >
      <Group justify="space-between" align="flex-end" gap="sm">
        <Stack gap={2}>
          {lastError && (
            <Text size="sm">
              Last error: {describeLastError(lastError)}, <Time at={lastError.at} />
            </Text>
          )}
          <Text size="sm">
            {from && (
              <>
                Since <Time at={from} exact />.{' '}
              </>
            )}
            {formatCount(unsent, 'delivery')} failed or cancelled.{' '}
            <PageLink to={failures}>See failures</PageLink>
          </Text>
        </Stack>
        {can(app, 'changeWebhooks') && state !== 'suspended' && (
          <Button
            component={Link}
            to={failures}
            state={{ opensRecovery: true } satisfies OpensRecovery}
            size="xs"
            variant={isByOwner ? 'default' : 'filled'}
            color={isByOwner ? 'gray' : 'red.9'}
          >
            Recover…
          </Button>
        )}
      </Group>
    </Alert>
  );
}

function describeState(webhook: TroubledWebhook): string {
  const { state, reason, suspendedReason, exhaustedInARow } = webhook;
  if (state === 'suspended') return `suspended by the operator, ${suspendedReason}`;
  return state === 'failing'
    ? `failing, ${describeFailures({ exhaustedInARow })}`
    : `deactivated, ${deactivationReasons[reason ?? 'owner']}`;
}

function describeLastError({ statusCode, error }: LastError): string {
  if (error !== null) return errorLabels[error];
  return describeAttempt({ statusCode, error, durationMs: 0 }).title;
}

function ExpiringEntry({ apiKey }: { apiKey: ExpiringKey }) {
  return (
    <Alert
      component="li"
      role="listitem"
      color="orange"
      title={
        <>
          <PageLink to={`/apps/${apiKey.appId}/keys`}>{nameOfKey(apiKey)}</PageLink> of{' '}
          {apiKey.appName}
        </>
      }
    >
      <Text size="sm">
        The key expires <Time at={apiKey.expiresAt} />. Rotate it before then.
      </Text>
    </Alert>
  );
}
