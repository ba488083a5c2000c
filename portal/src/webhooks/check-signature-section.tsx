import { Text } from '@mantine/core';
import { DeferredFold } from '../shown/deferred-fold.tsx';
import { Section } from '../shown/section.tsx';

/** For whoever wonders why their program refuses a delivery. */
export function CheckSignatureSection() {
  return (
    <Section
      title="Check a signature"
      lead="Paste a delivery as your program got it, and see whether its signature is right and why not. It is checked in this browser alone: nothing that you paste here is sent or kept anywhere."
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
          Browsers verify signatures only on pages that come by HTTPS, which this one does not.
        </Text>
      )}
    </Section>
  );
}

/** WebCrypto is there in secure contexts only. */
function canCheck(): boolean {
  return window.isSecureContext;
}
