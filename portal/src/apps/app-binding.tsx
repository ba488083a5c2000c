import { Group, Text } from '@mantine/core';
import { useRef, type ReactNode } from 'react';
import { bindApp, unbindApp } from '../api/operations.ts';
import type { Bindable, PortalApp, PortalBinding } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { can } from './can.ts';
import { kindLabels } from './kind-labels.ts';
import { ChooseBinding } from './choose-binding.tsx';
import { EventsGiven } from './events-given.tsx';

const changes = [...appChanges, '/bindable'];

export function AppBinding({ app }: { app: PortalApp }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The button is gone after a change.
  const toastAndFocus = (message: string) => {
    toastSuccess(message);
    moveFocusAfterWait(heading.current);
  };
  const bind = useWrite(({ kind, slug }: Bindable) => bindApp(app.id, { kind, slug }), changes, {
    done: ({ binding }) => toastAndFocus(`Bound to ${binding?.name}.`),
  });
  const mayChange = can(app, 'changeApp');
  return (
    <Section
      title="Binding"
      headingRef={heading}
      lead="A bound app also gets the internal events of its organisation or alliance. Only an owner of the app who manages it can bind the app. The binding ends when they are no longer both."
    >
      {app.binding && (
        <Binding binding={app.binding}>
          {mayChange && (
            <Unbind
              appId={app.id}
              name={app.binding.name}
              done={() => toastAndFocus('The app is no longer bound.')}
            />
          )}
        </Binding>
      )}
      {!app.binding && !mayChange && <Text>Not bound.</Text>}
      {!app.binding && mayChange && (
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

function Binding({ binding, children }: { binding: PortalBinding; children: ReactNode }) {
  const { name, kind, slug, boundBy } = binding;
  return (
    <Group justify="space-between">
      <div>
        <Text>
          Bound to <strong>{name}</strong>, the {kindLabels[kind]} {slug}
        </Text>
        <Note>By {boundBy}</Note>
      </div>
      {children}
    </Group>
  );
}

type UnbindProps = { appId: string; name: string; done: () => void };

function Unbind({ appId, name, done }: UnbindProps) {
  const write = useWrite(() => unbindApp(appId), changes, { done });
  return (
    <Confirm button={{ children: 'Unbind' }} title="Unbind this app" action="Unbind" write={write}>
      <Text size="sm">
        Internal events of {name} are no longer sent to this app, and pending deliveries of them are
        cancelled. Binding it again does not bring them back. Keys, webhooks and public events are
        not affected.
      </Text>
    </Confirm>
  );
}
