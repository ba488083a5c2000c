import { Button, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { createApp } from '../api/operations.ts';
import type { CreatedWebhook, PortalApp, Webhook } from '../api/types.ts';
import { useOnce } from '../api/use-once.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { CreateAppForm } from '../apps/create-app.tsx';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Section } from '../ui/section.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { useClosing } from '../ui/use-closing.ts';
import { Receivers } from '../webhooks/receivers.tsx';
import { SendTest } from '../webhooks/send-test.tsx';
import { useCreateWebhook } from '../webhooks/use-create-webhook.ts';
import { newWebhook, WebhookForm } from '../webhooks/webhook-form.tsx';
import { useFirstSteps } from './use-first-steps.ts';

/**
 * The next of the first steps, in a dialog that goes on to the one after it. While it shows a secret, it does not close, and
 * the form for a webhook closes only by its button.
 */
export function FirstStep() {
  const [created, setCreated] = useState<CreatedWebhook | null>(null);
  const [added, setAdded] = useState<{ app: PortalApp; webhook: Webhook } | null>(null);
  const { app, webhook, isTested, setOpen } = useFirstSteps(added);
  // The form stays what it is while somebody else changes what there is.
  const [addsTo, setAddsTo] = useState<PortalApp | null>(null);
  if (app?.webhookCount === 0 && !addsTo && !added) setAddsTo(app);
  const close = useClosing(() => {
    if (!created) setOpen(false);
  });
  const step = () => {
    if (created) return <Secret created={created} done={() => setCreated(null)} />;
    if (!app) return <NewApp />;
    if (addsTo)
      return (
        <NewWebhook
          app={addsTo}
          done={(made) => {
            setCreated(made);
            setAdded({ app: addsTo, webhook: made });
            setAddsTo(null);
          }}
        />
      );
    if (!webhook || isTested === undefined) return null;
    return <Test app={app} webhook={webhook} isTested={isTested} />;
  };
  return (
    <Modal
      opened
      onClose={close}
      title="First steps"
      size="xl"
      withCloseButton={!created}
      closeOnEscape={!addsTo}
      closeOnClickOutside={!addsTo}
    >
      {step()}
    </Modal>
  );
}

function Secret({ created, done }: { created: CreatedWebhook; done: () => void }) {
  return (
    <>
      <LeaveGuard lost="secret" />
      <SecretOnce title="The secret of your webhook" secret={created.secret} done={done} />
    </>
  );
}

type TestProps = { app: PortalApp; webhook: Webhook; isTested: boolean };

/** Whoever has just sent the first test sees its response before going on. */
function Test({ app, webhook, isTested }: TestProps) {
  const [goesOn, setGoesOn] = useState(isTested);
  if (goesOn) return <Verification />;
  return (
    <Stack>
      {isTested && (
        <div>
          <Button onClick={() => setGoesOn(true)}>Next: verify signatures</Button>
        </div>
      )}
      <SendTest appId={app.id} webhook={webhook} />
    </Stack>
  );
}

function Verification() {
  const { hide } = useFirstSteps();
  return (
    <Section title="Verify signatures">
      <Text size="sm">
        Anybody who knows its URL can send a request to your server. Check with the secret that it
        came from this service.
      </Text>
      <Receivers />
      <div>
        <Button onClick={hide}>My server verifies signatures</Button>
      </div>
    </Section>
  );
}

function NewApp() {
  return (
    <Section title="Create an app">
      <CreateAppForm write={useWrite(useOnce(createApp), appChanges)} />
    </Section>
  );
}

function NewWebhook({ app, done }: { app: PortalApp; done: (webhook: CreatedWebhook) => void }) {
  const write = useCreateWebhook(app.id, done);
  return (
    <Section title="Add a webhook">
      <WebhookForm appId={app.id} initial={newWebhook} action="Create webhook" write={write} />
    </Section>
  );
}
