import { Group, Text } from '@mantine/core';
import { useRef } from 'react';
import { bindApp, unbindApp } from '../api/operations.ts';
import type { Bindable, PortalApp, PortalBinding } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { kindLabels } from './kind-labels.ts';
import { ChooseBinding } from './choose-binding.tsx';
import { EventsGiven } from './events-given.tsx';

const changes = [...appChanges, '/bindable'];

export function AppBinding({ app }: { app: PortalApp }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The button is gone after a change.
  const toastAndFocus = (message: string) => {
    toastSuccess(message);
    moveFocus(heading.current);
  };
  const bind = useWrite(({ kind, slug }: Bindable) => bindApp(app.id, { kind, slug }), changes, {
    done: ({ binding }) => toastAndFocus(`Bound to ${binding?.name}.`),
  });
  return (
    <Section
      title="Binding"
      headingRef={heading}
      lead="A bound app also gets the internal events of its organisation or alliance. Only managers can bind an app, and the binding ends when they are no longer managers."
    >
      {app.binding ? (
        <Binding
          appId={app.id}
          binding={app.binding}
          ended={() => toastAndFocus('The app is no longer bound.')}
        />
      ) : (
        <ChooseBinding
          bind={bind.mutate}
          busyWith={bind.isPending ? bind.variables.id : null}
          error={bind.error}
        />
      )}
      <EventsGiven app={app} />
    </Section>
  );
}

type Props = { appId: string; binding: PortalBinding; ended: () => void };

function Binding({ appId, binding: { name, kind, slug }, ended }: Props) {
  const write = useWrite(() => unbindApp(appId), changes, { done: ended });
  return (
    <Group justify="space-between">
      <Text>
        Bound to <strong>{name}</strong>, the {kindLabels[kind]} {slug}
      </Text>
      <Confirm
        button={{ children: 'Unbind' }}
        title="Unbind this app"
        action="Unbind"
        write={write}
      >
        <Text size="sm">
          Internal events of {name} are no longer sent to this app, and pending deliveries of them
          are cancelled. Binding it again does not bring them back. Keys, webhooks and public events
          are not affected.
        </Text>
      </Confirm>
    </Group>
  );
}
