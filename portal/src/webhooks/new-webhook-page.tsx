import { Button, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useNavigate, useParams } from 'react-router';
import { app as appOperation } from '../api/operations.ts';
import type { CreatedWebhook } from '../api/types.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { Page } from '../layout/page.tsx';
import { hasUnsaved } from '../session/unsaved.ts';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { SecretOnce } from '../ui/secret-once.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { isChat } from './describe-webhook.ts';
import { Receivers } from './receivers.tsx';
import { NoRoom, webhooksMax } from './no-room.tsx';
import { WebhookRoleNote } from './webhook-role-note.tsx';
import { useCreateWebhook } from './use-create-webhook.ts';
import { newWebhook, WebhookForm } from './webhook-form.tsx';

export function NewWebhookPage() {
  const { appId = '' } = useParams();
  const navigate = useNavigate();
  const app = useQuery(appOperation(appId));
  const list = `/apps/${appId}/webhooks`;
  const create = useCreateWebhook(appId);
  return (
    <Page
      title={create.data ? 'Your new webhook' : 'New webhook'}
      crumbs={[...crumbsOf(app.data, appId), { title: 'Webhooks', to: list }]}
    >
      <Loaded query={app}>
        {(data) => {
          if (create.data) {
            const done = () => void navigate(`${list}/${create.data.id}/test`, { replace: true });
            if (isChat(create.data)) return <CreatedChannel done={done} />;
            return <Created webhook={create.data} done={done} />;
          }
          if (!can(data, 'changeWebhooks')) return <WebhookRoleNote />;
          // What somebody has begun to write stays.
          if (data.webhookCount >= webhooksMax(data) && !hasUnsaved())
            return <NoRoom total={data.webhookCount} max={webhooksMax(data)} list={list} />;
          return (
            <Paper withBorder p={{ base: 'sm', sm: 'lg' }}>
              <WebhookForm
                appId={appId}
                initial={newWebhook}
                isNew
                action="Create webhook"
                write={create}
                cancel={() => void navigate(list, { replace: true })}
              />
            </Paper>
          );
        }}
      </Loaded>
    </Page>
  );
}

function CreatedChannel({ done }: { done: () => void }) {
  useEffect(() => moveFocusAfterWait(), []);
  return (
    <Stack gap="lg" align="start">
      <Text size="sm">
        Events now arrive in the channel as messages. Next, send a test to see one.
      </Text>
      <Button onClick={done}>Send a test</Button>
    </Stack>
  );
}

function Created({ webhook, done }: { webhook: CreatedWebhook; done: () => void }) {
  return (
    <Stack gap="lg">
      <LeaveGuard lost="secret" />
      <SecretOnce title="The secret of your webhook" secret={webhook.secret} done={done}>
        <Text size="sm">
          Every delivery to {webhook.url} is signed with this secret. Check the signature in your
          program to reject forged requests. Next, send a test.
        </Text>
      </SecretOnce>
      <Receivers />
    </Stack>
  );
}
