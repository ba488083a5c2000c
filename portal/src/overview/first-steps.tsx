import { Button, Group, Text } from '@mantine/core';
import { Deferred } from '../ui/deferred.tsx';
import { pages } from '../pages-script.ts';
import { CircleCheck } from '../ui/icons.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { useFirstSteps } from './use-first-steps.ts';

const steps = [
  { title: 'Create an app', hint: 'Its webhooks and keys belong to it.' },
  { title: 'Add a webhook', hint: 'Your server gets events at its URL.' },
  { title: 'Send a test', hint: 'Your server accepts it with a status of 2xx.' },
  { title: 'Verify signatures', hint: 'Your server rejects what this service did not sign.' },
];

export function FirstSteps() {
  const { isShown, done, hide, isOpen, setOpen } = useFirstSteps();
  if (!isShown) return null;
  return (
    <Section
      title="First steps"
      lead="Webhooks notify your programs of changes in the directory. Only a program that reads the API needs a key."
      actions={
        <Button variant="subtle" size="xs" onClick={hide}>
          Hide
        </Button>
      }
    >
      <ol className="plain-list">
        {steps.map(({ title, hint }, index) => (
          <Group key={title} component="li" justify="space-between" mih={36}>
            <div>
              <Group gap={6}>
                {index < done && <CircleCheck size={18} aria-label="Done:" />}
                <Text fw={600}>{title}</Text>
              </Group>
              <Note>{hint}</Note>
            </div>
            {index === done && <Button onClick={() => setOpen(true)}>{title}</Button>}
          </Group>
        ))}
      </ol>
      {isOpen && <Deferred script={pages} part="FirstStep" />}
    </Section>
  );
}
