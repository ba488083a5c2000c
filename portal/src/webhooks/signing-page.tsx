import { Text } from '@mantine/core';
import { DeferredFold } from '../ui/deferred-fold.tsx';
import { Section } from '../ui/section.tsx';
import { WebhookFrame } from './webhook-frame.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

export function WebhookSigningPage() {
  return (
    <WebhookFrame tab="Signing">
      {({ webhook, mayChange }) => (
        <>
          <WebhookSecret webhook={webhook} mayChange={mayChange} />
          <CheckSignature />
        </>
      )}
    </WebhookFrame>
  );
}

/** Helps to find out why a program refuses a delivery. */
function CheckSignature() {
  return (
    <Section
      title="Check a signature"
      lead="Paste a delivery as your program received it to see whether its signature is valid, and if not, why. The check runs in your browser: nothing you paste is sent or stored."
    >
      {window.isSecureContext ? (
        <DeferredFold
          title="Paste a delivery"
          summary="Its headers, its body and the secret."
          script={{
            name: 'check of a signature',
            load: () => import('./check-signature-form.tsx'),
          }}
        />
      ) : (
        <Text size="sm">
          Browsers can verify signatures only on HTTPS pages, and this page is not one.
        </Text>
      )}
    </Section>
  );
}
