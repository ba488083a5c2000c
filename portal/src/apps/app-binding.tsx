import { useDisclosure } from '@mantine/hooks';
import { Button, Group, Text } from '@mantine/core';
import type { RefObject } from 'react';
import { bindApp, unbindApp } from '../api/operations.ts';
import type { Bindable, PortalApp } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { subjectWords } from './app-words.ts';
import { ChooseBinding } from './choose-binding.tsx';
import { EventsGiven } from './events-given.tsx';

/** Shows and changes the binding of an app. The heading takes the focus after a change. */
export function AppBinding({
  app,
  headingRef,
}: {
  app: PortalApp;
  headingRef: RefObject<HTMLHeadingElement | null>;
}) {
  const [opened, { open, close }] = useDisclosure(false);
  const changes = ['/apps', '/bindable', '/overview', '/audit'];
  const bind = useWrite(({ kind, slug }: Bindable) => bindApp(app.id, { kind, slug }), changes);
  const unbind = useWrite(() => unbindApp(app.id), changes);
  const toastAndFocus = (message: string) => {
    toastSuccess(message);
    moveFocus(headingRef.current);
  };
  const { binding } = app;
  return (
    <Section
      title="Binding"
      headingRef={headingRef}
      lead="A bound app also gets the internal events of its organisation or alliance. Only managers can bind an app, and the binding ends when they are no longer managers."
    >
      {binding ? (
        <Group justify="space-between">
          <Text>
            Bound to <strong>{binding.name}</strong>, the {subjectWords[binding.kind]}{' '}
            {binding.slug}
          </Text>
          <Button variant="default" onClick={open}>
            Unbind
          </Button>
        </Group>
      ) : (
        <ChooseBinding
          bind={(subject) =>
            bind.mutate(subject, { onSuccess: () => toastAndFocus(`Bound to ${subject.name}.`) })
          }
          busyWith={bind.isPending ? bind.variables.id : null}
          error={bind.error}
        />
      )}
      <EventsGiven app={app} />
      <Confirm
        opened={opened}
        title="Unbind this app"
        action="Unbind"
        busy={unbind.isPending}
        error={unbind.error}
        confirm={() =>
          unbind.mutate(undefined, {
            onSuccess: () => {
              close();
              toastAndFocus('The app is no longer bound.');
            },
          })
        }
        close={() => {
          close();
          unbind.reset();
        }}
      >
        <Text size="sm">
          Internal events of {binding?.name ?? 'it'} are no longer sent to this app, and pending
          deliveries of them are cancelled. Binding it again does not bring them back. Keys,
          webhooks and public events are not affected.
        </Text>
      </Confirm>
    </Section>
  );
}
