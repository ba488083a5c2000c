import { Text } from '@mantine/core';
import { useRef, useState, type Ref } from 'react';
import { rotateWebhookSecret } from '../api/operations.ts';
import { useOnce } from '../api/use-once.ts';
import { pageData } from '../page-data.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { Rotate } from '../ui/rotate.tsx';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { Receivers } from './receivers.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import type { WebhookTabProps } from './webhook-frame.tsx';

/** Rotates the secret, and shows how receivers check signatures. */
export function WebhookSecret({ webhook, mayChange }: WebhookTabProps) {
  const opener = useRef<HTMLButtonElement>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const overlapEnd = webhook.previousSecretExpiresAt;
  const dismiss = () => {
    setSecret(null);
    moveFocus(opener.current);
  };
  return (
    <Section
      title="Secret and signatures"
      lead="Every delivery is signed with the secret that was shown when the webhook was created, or when the secret was last rotated."
      actions={
        mayChange && (
          <RotateSecret opener={opener} done={setSecret} hasOverlap={overlapEnd !== null} />
        )
      }
    >
      {secret !== null && (
        // A new key remounts it, so that its heading takes the focus each time.
        <SecretOnce key={secret} title="The new secret" secret={secret} done={dismiss} />
      )}
      {secret !== null && <LeaveGuard lost="secret" />}
      {overlapEnd && (
        <Text size="sm">
          The previous secret is also valid and expires <Time at={overlapEnd} />. Until then,
          webhook-signature carries a signature for each secret, and X-{pageData.serviceName}
          -Signature uses the previous one.
        </Text>
      )}
      <Receivers />
    </Section>
  );
}

type RotateProps = {
  opener: Ref<HTMLButtonElement>;
  done: (secret: string) => void;
  /** True if two secrets are already valid. */
  hasOverlap: boolean;
};

function RotateSecret({ opener, done, hasOverlap }: RotateProps) {
  const id = useWebhookId();
  const rotate = useOnce((overlapSeconds: number, idempotencyKey) =>
    rotateWebhookSecret(id, overlapSeconds, idempotencyKey),
  );
  return (
    <Rotate
      button={{ ref: opener, children: 'Rotate the secret' }}
      title="Rotate the secret"
      action="Rotate the secret"
      rotate={rotate}
      done={({ secret }) => done(secret)}
      thing="secret"
      warning="For a secret that may have leaked. Deliveries fail until your server uses the new one."
    >
      <Text size="sm">
        The webhook gets a new secret, which is shown once. While the old one is still valid,
        deliveries are signed with both, so that none fails while you switch to the new one.
      </Text>
      {hasOverlap && (
        <Text size="sm">Two secrets are valid now. The older one stops working immediately.</Text>
      )}
    </Rotate>
  );
}
