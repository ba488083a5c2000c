import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { apps } from '../api/operations.ts';
import { Page } from '../layout/page.tsx';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { AppList } from './app-list.tsx';
import { CreateApp } from './create-app.tsx';

export function AppsPage() {
  const query = useQuery(apps());
  const [opened, { open, close }] = useDisclosure(false);
  const hasSome = (query.data?.entries.length ?? 0) > 0;
  return (
    <Page
      title="Apps"
      lead="An app is a program of yours that uses this service. It has its own keys, webhooks and binding."
      actions={hasSome && <NewApp open={open} words="New app" />}
    >
      <Loaded query={query}>
        {({ entries }) =>
          entries.length > 0 ? (
            <AppList apps={entries} />
          ) : (
            <Empty
              title="You have no apps yet"
              action={<NewApp open={open} words="Create your first app" />}
            >
              Create an app, then add a key to read the directory or a webhook to get its events.
            </Empty>
          )
        }
      </Loaded>
      <CreateApp opened={opened} close={close} />
    </Page>
  );
}

function NewApp({ open, words }: { open: () => void; words: string }) {
  return (
    <Button leftSection={<Plus size={16} aria-hidden />} onClick={open}>
      {words}
    </Button>
  );
}
