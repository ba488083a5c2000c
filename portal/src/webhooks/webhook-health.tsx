/** The state of a webhook at the top of its page: an alert if it fails, and the buttons that change it. */
import { Alert, Text } from '@mantine/core';
import { useRef, type ReactNode } from 'react';
import { describeHealth } from '../../../service/src/contract/webhook-in-words.ts';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { updateWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { writeFilters } from '../deliveries/filters.ts';
import { Recover } from '../deliveries/recover.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { Suspension } from '../ui/suspension.tsx';
import { useNow } from '../ui/use-now.ts';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { lookOf } from './describe-webhook.ts';
import { useWebhookId } from './use-webhook-id.ts';

export function WebhookActions({ webhook }: { webhook: Webhook }) {
  if (webhook.suspendedAt !== null) return null;
  return (
    <>
      <Recover webhook={webhook} />
      <StateButton webhook={webhook} />
    </>
  );
}

/** Only deactivating asks. One button for both, so that it keeps the focus. */
function StateButton({ webhook: { active } }: { webhook: Webhook }) {
  const id = useWebhookId();
  const button = useRef<HTMLButtonElement>(null);
  const deactivate = useWrite(() => updateWebhook(id, { active: false }), appChanges, {
    done: () => {
      toastSuccess('Webhook deactivated.');
      moveFocusAfterWait(button.current);
    },
  });
  const reactivate = useWrite(() => updateWebhook(id, { active: true }), appChanges, {
    done: () => toastSuccess('Webhook activated.'),
  });
  const { isPending: busy, mutate } = reactivate;
  return (
    <>
      <Confirm
        button={{
          ref: button,
          children: active ? 'Deactivate' : 'Reactivate',
          ...(!active && { busy, onClick: () => mutate(undefined) }),
        }}
        title="Deactivate this webhook?"
        action="Deactivate"
        write={deactivate}
      >
        <Text size="sm">
          No events are sent until you reactivate it, and pending deliveries are cancelled now. You
          can recover them afterwards, and replay the events that it missed.
        </Text>
      </Confirm>
      {!active && reactivate.isError && <Problem error={reactivate.error} />}
    </>
  );
}

/** Advice while the webhook fails, or is deactivated or suspended. */
export function WebhookTrouble({ webhook, mayChange }: { webhook: Webhook; mayChange: boolean }) {
  const { health } = webhook;
  if (health === 'failing') return <Failing webhook={webhook} mayChange={mayChange} />;
  if (health === 'retrying') return <Retrying webhook={webhook} />;
  if (health === 'deactivated') return <Deactivated webhook={webhook} mayChange={mayChange} />;
  if (health === 'suspended')
    return (
      <Suspension
        what="The webhook"
        of={webhook}
        effect="It receives nothing, and pending deliveries were cancelled. When it is restored, replay what it missed."
      />
    );
  return null;
}

type Props = { webhook: Webhook; mayChange: boolean };

function Failing({ webhook, mayChange }: Props) {
  return (
    <HealthAlert webhook={webhook}>
      <Text size="sm">
        All attempts failed. If this continues, the webhook is deactivated. The failed deliveries
        show the reason{mayChange && '. Once it is fixed, recover them'}: the next successful
        delivery resets the count.
      </Text>
    </HealthAlert>
  );
}

function Retrying({ webhook }: Pick<Props, 'webhook'>) {
  const { page } = useWebhookId();
  const pending = `${page}/deliveries?${writeFilters({ status: 'pending' })}`;
  return (
    <HealthAlert webhook={webhook}>
      <Text size="sm">
        No attempt has succeeded since. A delivery gets up to {attemptsMaxInWords} attempts, and the{' '}
        <PageLink to={pending}>pending deliveries</PageLink> show the reason. The next successful
        delivery ends this.
      </Text>
    </HealthAlert>
  );
}

function HealthAlert({ webhook, children }: Pick<Props, 'webhook'> & { children: ReactNode }) {
  const { health, deactivatedReason: reason } = webhook;
  if (!health) return null;
  const { label, color } = lookOf(health, reason);
  return (
    <Alert color={color} title={`${label}: ${describeHealth({ ...webhook, reason })}`}>
      {children}
    </Alert>
  );
}

function Deactivated({ webhook, mayChange }: Props) {
  const { deactivatedAt, nextProbeAt } = webhook;
  return (
    <HealthAlert webhook={webhook}>
      <Text size="sm">
        {deactivatedAt && (
          <>
            Deactivated <Time at={deactivatedAt} exact />.{' '}
          </>
        )}
        Pending deliveries were cancelled, and events since then are not sent.
        {mayChange &&
          ' When your server works again, recover: this reactivates the webhook and sends the failed and cancelled deliveries again.'}
      </Text>
      {nextProbeAt && <Probed nextProbeAt={nextProbeAt} mayChange={mayChange} />}
    </HealthAlert>
  );
}

/**
 * Otherwise a probe that is due is sent at once. Several refreshes of the page, because its probe may be on the way, and clocks
 * differ. The service tries again every five minutes, and each time it is due from then.
 */
const lateMs = 60_000;

function Probed({ nextProbeAt, mayChange }: { nextProbeAt: string; mayChange: boolean }) {
  const { page } = useWebhookId();
  const isLate = useNow((nowMs) => String(nowMs - Date.parse(nextProbeAt) > lateMs)) === 'true';
  if (isLate)
    return (
      <Text size="sm" mt="xs">
        A probe is due, and the service has not been able to make it. It tries again every few
        minutes. If that lasts, ask the operator whether the service can still read the webhook's
        secret.{' '}
        {mayChange && (
          <>
            A new secret from <PageLink to={`${page}/signing`}>Signing</PageLink> can be read again.
          </>
        )}
      </Text>
    );
  return (
    <Text size="sm" mt="xs">
      The service probes it, next <Time at={nextProbeAt} past="now" />, and reactivates it when your
      server accepts two probes in a row.{' '}
      {mayChange && (
        <>
          You can turn this off in <PageLink to={`${page}/settings`}>the settings</PageLink>.
        </>
      )}
    </Text>
  );
}
