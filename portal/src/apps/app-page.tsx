import { Button, Group, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalApp } from '../api/types.ts';
import { CopiedId } from '../ui/copied-id.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Time } from '../ui/time.tsx';
import { AppBinding } from './app-binding.tsx';
import { AppFrame } from './app-frame.tsx';
import { can } from './can.ts';
import { DeleteApp } from './delete-app.tsx';
import { Listen } from './listen.tsx';
import { RenameApp } from './rename-app.tsx';
import { RoleNote } from './role-note.tsx';

export function AppPage() {
  return <AppFrame>{(app) => <Sections app={app} />}</AppFrame>;
}

function Sections({ app }: { app: PortalApp }) {
  return (
    <>
      <Group gap="xs" component="div">
        <Note span>App id</Note>
        <CopiedId id={app.id} thing="app" />
        <Note span>
          Created <Time at={app.createdAt} />
        </Note>
      </Group>
      <RoleNote action="changeApp" to="rename, bind, transfer or delete it" />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Contents
          title="Keys"
          count={app.keyCount}
          thing="valid key"
          purpose="A key lets your program call the API: read the directory, read events, manage webhooks."
          {...(can(app, 'changeKeys') && { first: 'Create a key' })}
          to={`/apps/${app.id}/keys`}
        />
        <Contents
          title="Webhooks"
          count={app.webhookCount}
          thing="webhook"
          purpose="A webhook sends events to your server as they happen."
          {...(can(app, 'changeWebhooks') && { first: 'Create a webhook' })}
          to={`/apps/${app.id}/webhooks`}
        />
      </SimpleGrid>
      <AppBinding app={app} />
      {can(app, 'changeWebhooks') && <Listen />}
      {can(app, 'changeApp') && <RenameApp app={app} />}
      {can(app, 'changeApp') && <DeleteApp app={app} />}
    </>
  );
}

type Props = {
  title: string;
  count: number;
  thing: string;
  purpose: string;
  /** The first step, for those who may take it. */
  first?: string;
  to: string;
};

/** Shows how many there are, with a link to them or to the first step. */
function Contents({ title, count, thing, purpose, first, to }: Props) {
  const isFirst = count === 0 && first !== undefined;
  return (
    <Section title={title} lead={purpose}>
      <Group justify="space-between">
        <Text>{formatCount(count, thing)}</Text>
        <Button component={Link} to={to} variant={isFirst ? 'filled' : 'default'} size="xs">
          {isFirst ? first : `View ${title.toLowerCase()}`}
        </Button>
      </Group>
    </Section>
  );
}
