import { Kbd, Modal, Stack } from '@mantine/core';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';

const keys: [key: string, meaning: string][] = [
  ['j or ↓', 'Open the next delivery'],
  ['k or ↑', 'Open the one before'],
  ['r', 'Send the open delivery again'],
  ['/', 'Search'],
  ['Esc', 'Close the delivery'],
  ['?', 'Show these keys'],
];

export function KeysDialog({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Keys in the list of deliveries">
      <Stack>
        <DescriptionList
          entries={keys.map(([key, meaning]): Term => [meaning, <Kbd key={key}>{key}</Kbd>])}
        />
        <Note>
          <PageLink to="/account">Your account</PageLink> switches them off.
        </Note>
      </Stack>
    </Modal>
  );
}
