/** Finds apps, webhooks, events and pages by name. It knows what the portal's own lists show. */
import { VisuallyHidden } from '@mantine/core';
import { createSpotlight, Spotlight, useSpotlight } from '@mantine/spotlight';
import '@mantine/spotlight/styles.css';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useReducer, useState } from 'react';
import { useNavigate } from 'react-router';
import { apps as appsOperation, catalogue, webhooks } from '../api/operations.ts';
import { tabs } from '../apps/app-frame.tsx';
import { Search } from '../ui/icons.tsx';
import { awaitFocus, isFocusTaken, moveFocus } from '../ui/move-focus.ts';
import { nameInList } from '../webhooks/describe-webhook.ts';
import { places } from './navigation.tsx';

const pages = [
  ...places,
  { to: '/account', label: 'Account' },
  { to: '/security', label: 'Security' },
];
const shownMax = 20;
const [store, spotlight] = createSpotlight();

/** Opens when it is rendered. */
export function Find() {
  const actions = useActions();
  const [openedFrom] = useState(document.activeElement);
  // It may have loaded while somebody went on.
  useEffect(() => {
    if (!isFocusTaken()) spotlight.open();
  }, []);
  // Arrows change only the document, so `Chosen` looks again after each key.
  const [, look] = useReducer((keys: number) => keys + 1, 0);
  return (
    <Spotlight
      store={store}
      shortcut={null}
      // It gives the focus back, but the page may have changed.
      onSpotlightClose={() => {
        if (!openedFrom?.isConnected) moveFocus();
      }}
      // The name of the dialog, without a row of its own.
      title={<VisuallyHidden>Find</VisuallyHidden>}
      styles={{ header: { position: 'absolute', minHeight: 0, padding: 0 } }}
      highlightQuery
      scrollable
      maxHeight={420}
      limit={shownMax}
      nothingFound="Nothing found."
      searchProps={{
        'aria-label': 'Find',
        placeholder: 'An app, a webhook, an event or a page',
        leftSection: <Search size={18} aria-hidden />,
        rightSection: <Chosen />,
        onKeyUp: look,
      }}
      actions={actions}
    />
  );
}

/** What can be found. */
function useActions() {
  const navigate = useNavigate();
  const apps = useQuery(appsOperation()).data?.entries ?? [];
  const withWebhooks = apps.filter(({ webhookCount }) => webhookCount > 0);
  const webhooksOf = useQueries({ queries: withWebhooks.map(({ id }) => webhooks(id)) });
  const events = useQuery(catalogue()).data?.entries ?? [];
  const action = (to: string, label: string, description?: string) => ({
    id: to,
    label,
    ...(description !== undefined && { description }),
    onClick: () => {
      awaitFocus();
      void navigate(to);
    },
  });
  return [
    { group: 'Pages', actions: pages.map(({ to, label }) => action(to, label)) },
    {
      group: 'Webhooks',
      actions: withWebhooks.flatMap(({ id, name }, index) =>
        (webhooksOf[index]?.data?.entries ?? []).map((webhook) =>
          action(`/apps/${id}/webhooks/${webhook.id}/deliveries`, nameInList(webhook), name),
        ),
      ),
    },
    {
      group: 'Apps',
      actions: apps.flatMap(({ id, name }) =>
        tabs.map(({ below, title }) =>
          action(`/apps/${id}${below}`, below === '' ? name : `${name}: ${title}`),
        ),
      ),
    },
    { group: 'Events', actions: events.map(({ event }) => action(`/events#${event}`, event)) },
  ];
}

/** The focus stays in the field, so a screen reader is told which result Enter opens. */
function Chosen() {
  const { listId } = useSpotlight(store);
  const [text, setText] = useState('');
  // Spotlight marks the result in the document only.
  useEffect(() => {
    const chosen = document.getElementById(listId)?.querySelector('[data-selected]');
    setText(
      [...(chosen?.querySelectorAll('span > span') ?? [])]
        .map(({ textContent }) => textContent)
        .join(' '),
    );
  });
  return <VisuallyHidden role="status">{text}</VisuallyHidden>;
}
