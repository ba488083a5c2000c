import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { createApp } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { AppNameField } from './app-name-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

/** Creates an app and opens its page. */
export function CreateApp({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal
      opened={opened}
      onClose={close}
      title="New app"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <CreateAppForm close={close} />
    </Modal>
  );
}

function CreateAppForm({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const write = useWrite(createApp, ['/apps', '/overview', '/audit']);
  const create = () =>
    write.mutate({ name }, { onSuccess: ({ id }) => void navigate(`/apps/${id}`) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create();
      }}
    >
      <Stack>
        <AppNameField
          name={name}
          setName={setName}
          error={write.error}
          description="For example, what the program does. Only you see it, and you can change it later."
          autoFocus
        />
        <Text size="sm" c="dimmed">
          You can have up to ten apps.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <BusyButton type="submit" busy={write.isPending}>
            Create app
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
