import { Button, Group, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalApp } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Time } from '../ui/time.tsx';
import { AppBinding } from './app-binding.tsx';
import { AppFrame } from './app-frame.tsx';
import { DeleteApp } from './delete-app.tsx';
import { RenameApp } from './rename-app.tsx';

export function AppPage() {
  return <AppFrame>{(app) => <Sections key={app.id} app={app} />}</AppFrame>;
}

function Sections({ app }: { app: PortalApp }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Contents
          title="Keys"
          count={app.keyCount}
          thing="valid key"
          purpose="A key lets your program call the API: read the directory, read events, manage webhooks."
          first="Create a key"
          to={`/apps/${app.id}/keys`}
        />
        <Contents
          title="Webhooks"
          count={app.webhookCount}
          thing="webhook"
          purpose="A webhook sends events to your server as they happen."
          first="Create a webhook"
          to={`/apps/${app.id}/webhooks`}
        />
      </SimpleGrid>
      <AppBinding app={app} />
      <RenameApp app={app} />
      <DeleteApp app={app} />
      <Note size="xs">
        Created <Time at={app.createdAt} />
      </Note>
    </>
  );
}

type Props = {
  title: string;
  count: number;
  thing: string;
  purpose: string;
  first: string;
  to: string;
};

/** Shows how many there are, with a link to them or to the first step. */
function Contents({ title, count, thing, purpose, first, to }: Props) {
  return (
    <Section title={title} lead={purpose}>
      <Group justify="space-between">
        <Text>{formatCount(count, thing)}</Text>
        <Button component={Link} to={to} variant={count === 0 ? 'filled' : 'default'} size="xs">
          {count === 0 ? first : `View ${title.toLowerCase()}`}
        </Button>
      </Group>
    </Section>
  );
}
