import { Text } from '@mantine/core';
import { DeferredFold } from '../ui/deferred-fold.tsx';
import { Section } from '../ui/section.tsx';

/** Helps to find out why a program refuses a delivery. */
export function CheckSignatureSection() {
  return (
    <Section
      title="Check a signature"
      lead="Paste a delivery as your program received it to see whether its signature is valid, and if not, why. The check runs in your browser: nothing you paste is sent or stored."
    >
      {canCheck() ? (
        <DeferredFold
          order={3}
          title="Paste a delivery"
          summary={
            <Text size="sm" c="dimmed">
              Its headers, its body and the secret.
            </Text>
          }
          name="check of a signature"
          load={() => import('./check-signature-form.tsx')}
        />
      ) : (
        <Text size="sm">
          Browsers can verify signatures only on HTTPS pages, and this page is not one.
        </Text>
      )}
    </Section>
  );
}

/** WebCrypto exists only in secure contexts. */
function canCheck(): boolean {
  return window.isSecureContext;
}
