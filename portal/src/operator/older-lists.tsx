/** Lists of everybody that are too long to count: deliveries, and the audit log. */
import { Code, Select, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { listedHours } from '../../../service/src/contract/periods.ts';
import { everyChange, everyDelivery } from '../api/operations.ts';
import type { readOlder } from '../api/read.ts';
import type { OperatorAuditEntry, OperatorDelivery } from '../api/types.ts';
import { describeDetails } from '../audit/describe-details.ts';
import { DeliveryStatus, statusFilterLabels } from '../deliveries/delivery-status.tsx';
import { Page } from '../layout/page.tsx';
import { useUnsaved } from '../session/unsaved.ts';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { SmallFold } from '../ui/fold.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { useTimes } from '../ui/times.tsx';
import { Named, OlderPages, Only, useChoice } from './choices.tsx';
import { EntryTable, type TableProps } from './table-page.tsx';

type Props<Entry> = TableProps<Entry> & {
  lead: string;
  read: (query: Record<string, string>) => ReturnType<typeof readOlder<Entry>>;
  filter: ReactNode;
};

/** The address holds the filter and where the page begins. */
function OlderPage<Entry>({ title, lead, read, filter, ...table }: Props<Entry>) {
  const [query, setQuery] = useSearchParams();
  const list = useQuery(read(Object.fromEntries(query)));
  return (
    <Page title={title} lead={lead}>
      {filter}
      <Loaded query={list} reset={{ label: 'Clear filters', run: () => setQuery({}) }}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 && <Text role="status">Nothing matches.</Text>}
            {data.length > 0 && <EntryTable title={title} entries={data} {...table} />}
            <OlderPages {...pagination} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

export function AllDeliveriesPage() {
  const [status, choose] = useChoice('status');
  return (
    <OlderPage
      title="Deliveries"
      lead={`Deliveries to all webhooks, newest first, without what was sent and received; with a status, those of the last ${listedHours} hours.`}
      read={everyDelivery}
      filter={
        <>
          <Select
            label="Status"
            maw={240}
            placeholder="All"
            clearable
            data={Object.entries(statusFilterLabels).map(([value, label]) => ({ value, label }))}
            value={status || null}
            onChange={(value) => choose(value ?? '')}
          />
          <Only name="webhook" label="Webhook" />
        </>
      }
      columns={['Event', 'Webhook', 'Status', 'Attempts', 'Last attempt', 'Queued']}
      row={(delivery) => ({
        key: delivery.id,
        cells: [
          <Named key="event" name={delivery.event} id={delivery.id} thing="delivery" />,
          <Receiver key="webhook" {...delivery} />,
          <DeliveryStatus key="status" status={delivery.status} />,
          delivery.attemptCount,
          delivery.lastAttempt && describeAttempt(delivery.lastAttempt).title,
          <Time key="queued" at={delivery.createdAt} />,
        ],
      })}
    />
  );
}

function Receiver({ host, appName, webhookId }: OperatorDelivery) {
  if (host === null) return 'Deleted';
  return (
    <>
      <PageLink to={`/webhooks?id=${webhookId}`}>{host}</PageLink>
      <Text size="sm">{appName}</Text>
    </>
  );
}

export function AllChangesPage() {
  const [action, choose] = useChoice('action');
  const [text, setText] = useState(action);
  useUnsaved(text.trim() !== action.trim());
  // A link may have removed it from the address.
  useEffect(() => setText(action), [action]);
  const chooseOther = (value: string) => {
    if (value !== action) choose(value);
  };
  const times = useTimes();
  return (
    <OlderPage
      title="Audit log"
      lead="Who changed what, newest first: with keys, in the portal, in this console, on the command line, and the service itself."
      read={everyChange}
      filter={
        <>
          <TextInput
            label="Action, or a group of actions"
            placeholder="key.revoked, or key"
            maw={360}
            value={text}
            onChange={({ currentTarget: { value } }) => setText(value)}
            onBlur={({ currentTarget: { value } }) => chooseOther(value.trim())}
            onKeyDown={({ key, currentTarget: { value } }) => {
              if (key === 'Enter') chooseOther(value.trim());
            }}
          />
          <Only name="subject" label="Of" />
          <Only name="app" label="App" />
        </>
      }
      columns={['Action', 'By', 'Of', 'When', 'Details']}
      row={(entry) => ({
        key: String(entry.id),
        cells: [
          <Code key="action">{entry.action}</Code>,
          `${entry.actor.name} (${actorLabels[entry.actor.kind]})`,
          <Subject key="of" {...entry.subject} />,
          <Time key="when" at={entry.at} />,
          <SmallFold key="details" title="Details">
            <DescriptionList entries={describeDetails(entry, times)} layout="line" />
          </SmallFold>,
        ],
      })}
    />
  );
}

const actorLabels: Record<OperatorAuditEntry['actor']['kind'], string> = {
  key: 'key',
  user: 'portal',
  operator: 'console',
  cli: 'command line',
  system: 'service',
};

function Subject({ kind, id }: OperatorAuditEntry['subject']) {
  if (id === null) return kind;
  return <PageLink to={`/audit?subject=${id}`}>{kind}</PageLink>;
}
