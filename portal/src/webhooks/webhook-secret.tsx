import { Button, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { rotateWebhookSecret } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { pageData } from '../page-data.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { Receivers } from './receivers.tsx';
import { RotateSecretDialogue } from './rotate-secret-dialogue.tsx';
import { useWebhookId, webhookChanges } from './use-webhook-id.ts';

/** Replaces the signing secret, and shows how receivers check signatures. */
export function WebhookSecret({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const opener = useRef<HTMLButtonElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const rotate = useWrite(async (overlapSeconds: number) => {
    const rotated = await rotateWebhookSecret(id, overlapSeconds);
    // Shows the secret without waiting for the other reads.
    setIsOpen(false);
    setSecret(rotated.secret);
  }, webhookChanges);
  const overlapEnd = webhook.previousSecretExpiresAt;

  return (
    <Section
      title="Secret and signatures"
      lead="Every delivery is signed with the secret that was shown when the webhook was created, or when the secret was last replaced."
      actions={
        <Button
          ref={opener}
          variant="default"
          onClick={() => {
            rotate.reset();
            setIsOpen(true);
          }}
        >
          Replace the secret
        </Button>
      }
    >
      <Stack>
        {secret !== null && (
          <SecretOnce
            // A new key remounts it, so that its heading takes the focus each time.
            key={secret}
            title="The new secret"
            secret={secret}
            done={() => {
              setSecret(null);
              moveFocus(opener.current);
            }}
          />
        )}
        {overlapEnd && (
          <Text size="sm">
            The previous secret is also valid and expires <Time at={overlapEnd} />. Until then,
            webhook-signature carries a signature for each secret, and X-{pageData.serviceName}
            -Signature uses the previous one.
          </Text>
        )}
        <Receivers />
      </Stack>
      <RotateSecretDialogue
        opened={isOpen}
        hasOverlap={overlapEnd !== null}
        busy={rotate.isPending}
        error={rotate.error}
        // The new secret keeps the focus.
        returnFocus={!rotate.isPending}
        rotate={(overlapSeconds) => rotate.mutate(overlapSeconds)}
        close={() => setIsOpen(false)}
      />
    </Section>
  );
}
