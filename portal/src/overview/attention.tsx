/** The top of the overview: webhooks that fail or are deactivated, and keys that expire. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { describeHealth, errorLabels } from '../../../service/src/contract/webhook-in-words.ts';
import { expiresSoonDays } from '../../../service/src/contract/periods.ts';
import { apps } from '../api/operations.ts';
import type { ExpiringKey, LastError, Overview, TroubledWebhook } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { firstOpen } from '../deliveries/use-open-delivery.ts';
import { writeFilters } from '../deliveries/filters.ts';
import type { OpensRecovery } from '../deliveries/recover.tsx';
import { nameOfKey } from '../keys/key-state.ts';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { formatCount } from '../ui/format-count.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { isChat, lookOf, nameInList } from '../webhooks/describe-webhook.ts';
import { timeOr } from '../webhooks/webhook-state.tsx';

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
  const { appId, webhookId, appName, host, reason, lastError } = webhook;
  const { url = `https://${host}/` } = webhook;
  const { health = webhook.state, lastSuccessAt = null, unsentSince } = webhook;
  const page = `/apps/${appId}/webhooks/${webhookId}/deliveries`;
  const { label, color, quiet } = lookOf(health, reason);
  const from = webhook.failingSince ?? webhook.since;
  const text = describeList(webhook);
  const list = `${page}?${writeFilters(
    unsentSince
      ? { status: 'undelivered', span: 'own', since: unsentSince }
      : { status: health === 'retrying' ? 'pending' : 'failed' },
  )}`;
  return (
    <Alert
      component="li"
      role="listitem"
      color={color}
      variant={quiet ? 'outline' : 'light'}
      title={
        <>
          <PageLink to={page}>{nameInList({ ...webhook, id: webhookId, url })}</PageLink> of{' '}
          {appName}: {label.toLowerCase()}
          {health === 'suspended' && ' by the operator'}, {describeHealth({ ...webhook, health })}
        </>
      }
    >
      <Group justify="space-between" align="flex-end" gap="sm">
        <Stack gap={2}>
          {lastError && (
            <Text size="sm">
              Last error: {describeLastError(lastError, isChat(webhook))},{' '}
              <Time at={lastError.at} />. Last success: {timeOr(lastSuccessAt)}.
            </Text>
          )}
          <Text size="sm">
            {from && (
              <>
                Since <Time at={from} exact />.{' '}
              </>
            )}
            {text !== null && <PageLink to={`${list}&open=${firstOpen}`}>{text}</PageLink>}
            {unsentSince && (
              <>
                {' '}
                of those queued since <Time at={unsentSince} exact />.
              </>
            )}
          </Text>
        </Stack>
        {health !== 'suspended' && health !== 'retrying' && (
          <RecoverButton appId={appId} list={list} color={color} quiet={quiet} />
        )}
      </Group>
    </Alert>
  );
}

type RecoverButtonProps = {
  appId: string;
  list: string;
  color: string;
  quiet: boolean | undefined;
};

/** For those who may change the webhooks of the app. */
function RecoverButton({ appId, list, color, quiet }: RecoverButtonProps) {
  const { data: own } = useQuery(apps());
  const app = own?.entries.find(({ id }) => id === appId);
  if (!can(app, 'changeWebhooks')) return null;
  return (
    <Button
      component={Link}
      to={list}
      state={{ opensRecovery: true } satisfies OpensRecovery}
      size="xs"
      variant={quiet ? 'default' : 'filled'}
      color={quiet ? 'gray' : `${color}.9`}
    >
      Recover…
    </Button>
  );
}

/** The link's filter finds as many as its text says. */
function describeList(webhook: TroubledWebhook): string | null {
  const { unsent, unsentSince, health, exhaustedInARow } = webhook;
  if (unsentSince) return `${formatCount(unsent, 'delivery')} failed or cancelled`;
  if (health === 'retrying') return 'See pending deliveries';
  return exhaustedInARow > 0 ? 'See failures' : null;
}

function describeLastError(last: LastError, isMessage: boolean): string {
  const { error, errorCause } = last;
  if (error !== null && errorCause === null) return errorLabels[error];
  return describeAttempt({ ...last, durationMs: 0 }, isMessage).title;
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
