import { Button, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { app as appOperation, createWebhook } from '../api/operations.ts';
import type { CreatedWebhook, WebhookInput } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Receivers } from './receivers.tsx';
import { webhookChanges } from './use-webhook-id.ts';
import { WebhookForm } from './webhook-form.tsx';

export function NewWebhookPage() {
  const { appId = '' } = useParams();
  const app = useQuery(appOperation(appId));
  const list = `/apps/${appId}/webhooks`;
  const [created, setCreated] = useState<CreatedWebhook | null>(null);
  const create = useWrite(
    // Shows the secret without waiting for the lists to reload.
    async (body: WebhookInput) => setCreated(await createWebhook(appId, body)),
    webhookChanges,
  );
  return (
    <Page
      title={created ? 'Your new webhook' : 'New webhook'}
      crumbs={[...crumbsOf(app.data, appId), { title: 'Webhooks', to: list }]}
    >
      <Loaded query={app}>
        {() =>
          created ? (
            <Created webhook={created} />
          ) : (
            <Paper withBorder p={{ base: 'sm', sm: 'lg' }}>
              <WebhookForm
                appId={appId}
                initial={{ url: '', description: null, events: null }}
                action="Create webhook"
                save={async (settings) => {
                  await create.mutateAsync(settings);
                }}
                cancel={
                  <Button variant="default" component={Link} to={list}>
                    Cancel
                  </Button>
                }
              />
            </Paper>
          )
        }
      </Loaded>
    </Page>
  );
}

function Created({ webhook }: { webhook: CreatedWebhook }) {
  const { appId = '' } = useParams();
  const navigate = useNavigate();
  const page = `/apps/${appId}/webhooks/${webhook.id}`;
  return (
    <Stack gap="lg">
      <SecretOnce
        title="The secret of your webhook"
        secret={webhook.secret}
        done={() => void navigate(page)}
      >
        <Text size="sm">
          Every delivery to {webhook.url} is signed with this secret. Check the signature in your
          program to reject forged requests. Next, send a test from the webhook's page.
        </Text>
      </SecretOnce>
      <Receivers />
    </Stack>
  );
}
