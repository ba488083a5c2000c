import { Code, Group, SegmentedControl, Select, Text } from '@mantine/core';
import { searchedKeysMax } from '../../../service/src/contract/console.ts';
import { usageDays } from '../../../service/src/contract/periods.ts';
import {
  describeHealth,
  healthLabels,
  type DeactivatedReason,
} from '../../../service/src/contract/webhook-in-words.ts';
import {
  allAccounts,
  allApps,
  allKeys,
  allUsage,
  allWebhooks,
  settingsInForce,
} from '../api/operations.ts';
import type { OperatorKey, OperatorWebhook } from '../api/types.ts';
import { keyState, nameOfKey } from '../keys/key-state.ts';
import { capitalise } from '../ui/capitalise.ts';
import { formatBytes } from '../ui/format-bytes.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { Named, Only, SearchField, useChoice } from './choices.tsx';
import { Quotas } from './quotas.tsx';
import { RevealUrl } from './reveal-url.tsx';
import { SuspendOrRestore, useMayChange } from './suspend.tsx';
import { TablePage } from './table-page.tsx';

const limit = 25;

const number = (value: number) => value.toLocaleString();

function State({ suspendedAt, suspendedReason }: SuspendableEntry) {
  if (suspendedAt === null) return 'Active';
  return (
    <Text span size="sm" c="red">
      Suspended: {suspendedReason}
    </Text>
  );
}
type SuspendableEntry = { suspendedAt: string | null; suspendedReason: string | null };

export function AppsPage() {
  const mayChange = useMayChange();
  const [search] = useChoice('search');
  return (
    <TablePage
      title="Apps"
      lead="The apps of everybody, newest first."
      filter={<SearchField label="Name, id, or address of an owner" />}
      read={(page) => allApps({ page, limit, search })}
      columns={[
        'App',
        'Owners',
        'Keys',
        'Webhooks',
        'State',
        'Created',
        'Look',
        ...(mayChange ? ['Change'] : []),
      ]}
      none={search === '' ? 'There are no apps yet.' : 'No app matches.'}
      row={(app) => ({
        key: app.id,
        cells: [
          <Named key="app" name={app.name} id={app.id} thing="app" />,
          app.owners.join(', '),
          number(app.keyCount),
          <PageLink key="webhooks" to={`/webhooks?app=${app.id}`}>
            {number(app.webhookCount)}
          </PageLink>,
          <State key="state" {...app} />,
          <Time key="created" at={app.createdAt} />,
          <Group key="look" gap="xs" wrap="nowrap">
            <PageLink to={`/audit?app=${app.id}`}>Changes</PageLink>
            <Quotas app={app} />
          </Group>,
          mayChange && (
            <SuspendOrRestore
              key="change"
              what={{ kind: 'apps', id: app.id }}
              name={app.name}
              suspendedAt={app.suspendedAt}
            />
          ),
        ],
      })}
    />
  );
}

export function AccountsPage() {
  const mayChange = useMayChange();
  const [search] = useChoice('search');
  return (
    <TablePage
      title="Accounts"
      lead="The accounts of everybody, newest first."
      filter={<SearchField label="Name, address or id" />}
      read={(page) => allAccounts({ page, limit, search })}
      columns={[
        'Account',
        'Name',
        'Sessions',
        'Second factor',
        'State',
        'Created',
        ...(mayChange ? ['Change'] : []),
      ]}
      none="No account matches."
      row={(account) => ({
        key: account.id,
        cells: [
          <Named key="account" name={account.email} id={account.id} thing="account" />,
          account.name,
          number(account.sessionCount),
          account.hasSecondFactor ? 'Yes' : 'No',
          <State key="state" {...account} />,
          <Time key="created" at={account.createdAt} />,
          mayChange && (
            <SuspendOrRestore
              key="change"
              what={{ kind: 'accounts', id: account.id }}
              name={account.email}
              suspendedAt={account.suspendedAt}
            />
          ),
        ],
      })}
    />
  );
}

export function KeysPage() {
  const mayChange = useMayChange();
  const [search] = useChoice('search');
  return (
    <TablePage
      title="Keys"
      lead={`The keys of everybody and of the platform, newest first, at most ${number(searchedKeysMax)}. Nobody can see a whole key again.`}
      filter={<SearchField label="Name, id, id of an app, or last four characters" />}
      read={(page) => allKeys({ page, limit, search })}
      columns={[
        'Key',
        'App',
        'Scopes',
        'State',
        'Last used',
        'Today',
        'Created',
        ...(mayChange ? ['Change'] : []),
      ]}
      none={search === '' ? 'There are no keys yet.' : 'No key matches.'}
      row={(key) => ({
        key: key.id,
        cells: [
          <Named key="key" name={nameOfKey(key)} id={key.id} thing="key" />,
          key.appName ?? 'The platform',
          key.scopes.join(', '),
          key.suspendedAt === null ? stateOfKey(key) : <State key="state" {...key} />,
          key.lastUsedAt ? <Time key="used" at={key.lastUsedAt} /> : 'Never',
          number(key.usesToday),
          <Time key="created" at={key.createdAt} />,
          mayChange && key.revokedAt === null && (
            <SuspendOrRestore
              key="change"
              what={{ kind: 'keys', id: key.id }}
              name={nameOfKey(key)}
              suspendedAt={key.suspendedAt}
            />
          ),
        ],
      })}
    />
  );
}

function stateOfKey(key: OperatorKey): string {
  const state = keyState(key, Date.now());
  const isRefused = key.appSuspended && state !== 'revoked' && state !== 'expired';
  return isRefused ? 'Its app is suspended' : capitalise(state);
}

const healths = Object.keys(healthLabels) as OperatorWebhook['health'][];

export function WebhooksPage() {
  const mayChange = useMayChange();
  const [chosen, choose] = useChoice('health');
  const [app] = useChoice('app');
  const [id] = useChoice('id');
  const health = healths.find((each) => each === chosen);
  return (
    <TablePage
      title="Webhooks"
      lead="The webhooks of everybody, oldest first. Of their addresses only the host is shown."
      filter={
        <Group align="flex-end">
          <Select
            label="Health"
            maw={240}
            placeholder="All"
            clearable
            data={healths.map((value) => ({ value, label: healthLabels[value] }))}
            value={health ?? null}
            onChange={(value) => choose(value ?? '')}
          />
          <Only name="app" label="App" />
          <Only name="id" label="Webhook" />
        </Group>
      }
      read={(page) => allWebhooks({ page, limit, ...(health && { health }), app, id })}
      columns={['Host', 'App', 'Health', 'Since', 'Look', ...(mayChange ? ['Change'] : [])]}
      none={health || app || id ? 'No webhook matches.' : 'There are no webhooks yet.'}
      row={(webhook) => ({
        key: webhook.id,
        cells: [
          <Named key="host" name={webhook.host} id={webhook.id} thing="webhook" />,
          webhook.appName,
          healthOf(webhook),
          webhook.since && <Time key="since" at={webhook.since} />,
          <Group key="look" gap="xs">
            <PageLink to={`/deliveries?webhook=${webhook.id}`}>Deliveries</PageLink>
            {mayChange && webhook.format === 'json' && <RevealUrl webhook={webhook} />}
          </Group>,
          mayChange &&
            (webhook.suspended === 'app' ? (
              <PageLink key="change" to={`/apps?search=${webhook.appId}`}>
                Its app is suspended
              </PageLink>
            ) : (
              <SuspendOrRestore
                key="change"
                what={{ kind: 'webhooks', id: webhook.id }}
                name={`${webhook.host} of ${webhook.appName}`}
                suspendedAt={webhook.suspended === null ? null : webhook.since}
              />
            )),
        ],
      })}
    />
  );
}

function healthOf({ health, reason, exhaustedInARow }: OperatorWebhook): string {
  const why = describeHealth({
    health,
    reason: health === 'deactivated' ? (reason as DeactivatedReason) : null,
    suspendedReason: reason,
    exhaustedInARow,
  });
  return why === null ? healthLabels[health] : `${healthLabels[health]}: ${why}`;
}

const ranges = [1, 7, 30, usageDays];

export function UsagePage() {
  const [chosen, choose] = useChoice('days');
  const days = ranges.find((each) => String(each) === chosen) ?? 30;
  return (
    <TablePage
      title="Usage"
      lead="What apps have used, those with the most requests first. A day ends at midnight UTC."
      filter={
        <SegmentedControl
          size="xs"
          aria-label="Days"
          value={String(days)}
          onChange={choose}
          data={ranges.map((each) => ({
            value: String(each),
            label: each === 1 ? 'Today' : `${each} days`,
          }))}
        />
      }
      read={(page) => allUsage({ page, limit, days })}
      columns={['App', 'Requests', 'Failed', 'Size of responses', 'Events', 'Deliveries']}
      none="Nothing was used on these days."
      row={({ appId, name, requests, errors, bytes, events, deliveries }) => ({
        key: appId ?? 'platform',
        cells: [
          name ?? (appId === null ? 'Platform keys' : 'A deleted app'),
          number(requests),
          number(errors),
          formatBytes(bytes),
          number(events),
          number(deliveries),
        ],
      })}
    />
  );
}

export function SettingsPage() {
  return (
    <TablePage
      title="Settings"
      lead="The settings of the process that answers, without secrets. They come from its environment."
      read={() => settingsInForce()}
      columns={['Setting', 'Value', 'From']}
      none="There are no settings."
      row={({ name, value, isDefault }) => ({
        key: name,
        cells: [
          <Code key="name">{name}</Code>,
          value ?? 'Not set',
          isDefault ? 'Default' : 'Environment',
        ],
      })}
    />
  );
}
