import { Listen } from '../apps/listen.tsx';
import { SendTest } from './send-test.tsx';
import { WebhookFrame } from './webhook-frame.tsx';

export function WebhookTestPage() {
  return (
    <WebhookFrame tab="Test">
      {({ webhook, mayChange }) =>
        mayChange && (
          <>
            <SendTest webhook={webhook} />
            <Listen />
          </>
        )
      }
    </WebhookFrame>
  );
}
