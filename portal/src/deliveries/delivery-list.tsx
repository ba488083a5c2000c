import { Button, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState, type ReactNode, type RefObject } from 'react';
import { useLocation } from 'react-router';
import type { DeliveryPageOfApp, DeliveryScope } from '../api/operations.ts';
import type { PortalDelivery } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { formatCount } from '../ui/format-count.ts';
import { Pause, Play } from '../ui/icons.tsx';
import { Note } from '../ui/note.tsx';
import { Pager } from '../ui/pager.tsx';
import { useKeys } from '../ui/shortcut-keys.ts';
import { AnnounceNew } from './announce-new.tsx';
import { searchFieldId } from './delivery-filters.tsx';
import { DeliveryPanel } from './delivery-panel.tsx';
import { DeliveryTable, pathOf, rowLinkId, type FromList } from './delivery-table.tsx';
import { writeFilters, type ChangeFilters, type Filters } from './filters.ts';
import { KeysDialog } from './keys-dialog.tsx';
import { NoDeliveries } from './no-deliveries.tsx';
import { sendAgainId } from './redeliver.tsx';
import { RedeliverSeveral } from './redeliver-several.tsx';
import classes from './split.module.css';
import { useOpenDelivery } from './use-open-delivery.ts';
import { useSelection } from './use-selection.ts';
import { useSteadyRows } from './use-steady-rows.ts';

type Live = { isPaused: boolean; setPaused: (isPaused: boolean) => void };

type Props = {
  scope: DeliveryScope;
  page: DeliveryPageOfApp;
  readAt: number;
  /** True while the entries still belong to the previous filters. */
  isStale: boolean;
  filters: Filters;
  changeAndFocus: ChangeFilters;
  element: RefObject<HTMLElement | null>;
  /** Focuses the list. */
  focus: () => void;
  /** Buttons next to the number of deliveries. */
  actions: ReactNode;
} & Live;

export function DeliveryList(props: Props) {
  const { page, readAt, isStale, filters, changeAndFocus, element, focus } = props;
  const { appId, webhookId } = props.scope;
  const { pathname, search } = useLocation();
  const mayChange = can(useApp(), 'changeWebhooks');
  const { rows, waiting, show, scope, opening, selection } = useRows(props);
  const from: FromList = {
    list: `${pathname}${search}`,
    paths: rows.map((delivery) => pathOf(appId, delivery)),
  };
  const showNew = () => {
    show();
    focus();
  };
  return (
    <Stack gap={6} aria-busy={isStale}>
      <Head {...props} waiting={waiting} showNew={showNew} />
      {mayChange && <RedeliverSeveral selection={selection} focus={focus} />}
      <AnnounceNew fresh={page.entries} readAt={readAt} scope={scope} />
      <WithPanel appId={appId} from={from} opening={opening}>
        <section ref={element} tabIndex={-1} aria-label={`Deliveries, page ${filters.page}`}>
          {rows.length > 0 ? (
            <DeliveryTable
              appId={appId}
              rows={rows}
              openId={opening.open?.id}
              addressOf={opening.addressOf}
              from={from}
              filters={filters}
              ofApp={webhookId === null}
              selection={mayChange ? selection : undefined}
            />
          ) : (
            <NoDeliveries
              scope={{ appId, webhookId }}
              total={page.pagination.total}
              filters={filters}
              changeAndFocus={changeAndFocus}
              focus={focus}
            />
          )}
        </section>
      </WithPanel>
      <Pager pagination={page.pagination} go={(to) => changeAndFocus({ page: to })} />
    </Stack>
  );
}

/** The rows, which of them are open and selected, and the filters that they belong to. */
function useRows({ page: { entries }, readAt, isStale, filters, element }: Props) {
  const search = writeFilters(filters).toString();
  // A relative time range changes its query every minute without a change of filters.
  const [scope, setScope] = useState(search);
  if (!isStale && scope !== search) setScope(search);
  const mayMove = () =>
    opening.open === null && selection.ids.length === 0 && !isInUse(element.current);
  const steady = useSteadyRows({ fresh: entries, readAt, scope, mayMove });
  const opening = useOpenDelivery(steady.rows);
  const selection = useSelection(steady.rows, scope);
  return { ...steady, scope, opening, selection };
}

type HeadProps = Props & { waiting: number; showNew: () => void };

function Head({ page, filters, actions, waiting, showNew, isPaused, setPaused }: HeadProps) {
  return (
    <Group justify="space-between" gap="xs" mih={30}>
      <Group gap="xs" wrap="nowrap">
        <Found total={page.pagination.total} searched={page.searched} />
        {waiting > 0 && <ShowNew waiting={waiting} show={showNew} />}
      </Group>
      <Group gap="xs" justify="flex-end">
        {actions}
        <LiveButton page={filters.page} isPaused={isPaused} setPaused={setPaused} />
      </Group>
    </Group>
  );
}

type WithPanelProps = {
  appId: string;
  from: FromList;
  opening: ReturnType<typeof useOpenDelivery>;
  children: ReactNode;
};

/** The list and the open delivery beside it, with the keys that move between them. */
function WithPanel({ appId, from, opening, children }: WithPanelProps) {
  const { open, isFirst, move } = opening;
  const [showsKeys, keys] = useDisclosure(false);
  const moveAndFocus = (step: number) => focusRow(move(step));
  const close = () => {
    opening.close();
    focusRow(open);
  };
  const onKeyDown = useKeys({
    j: () => moveAndFocus(1),
    ArrowDown: () => moveAndFocus(1),
    k: () => moveAndFocus(-1),
    ArrowUp: () => moveAndFocus(-1),
    r: () => document.getElementById(sendAgainId)?.click(),
    '/': () => document.getElementById(searchFieldId)?.focus(),
    '?': keys.open,
    Escape: close,
  });
  return (
    <>
      <div
        role="presentation"
        className={classes['split'] ?? ''}
        {...(open && { 'data-open': true })}
        onKeyDown={onKeyDown}
      >
        {children}
        {open && (
          <DeliveryPanel
            key={open.id}
            id={{ appId, webhookId: open.webhookId, deliveryId: open.id }}
            from={from}
            scrolls={isFirst}
            close={close}
          />
        )}
      </div>
      {/* React passes the keys of a dialog on to what it is rendered in. */}
      <KeysDialog opened={showsKeys} close={keys.close} />
    </>
  );
}

function focusRow(row: Pick<PortalDelivery, 'id'> | null): void {
  // On a narrow screen it is not shown before the panel is closed.
  if (row) setTimeout(() => document.getElementById(rowLinkId(row.id))?.focus());
}

function Found({ total, searched }: { total: number } & Pick<DeliveryPageOfApp, 'searched'>) {
  return (
    <Note>
      {formatCount(total, 'delivery')}
      {searched?.complete === false &&
        ` among the ${searched.deliveries.toLocaleString()} searched`}
    </Note>
  );
}

function ShowNew({ waiting, show }: { waiting: number; show: () => void }) {
  return (
    <Button size="compact-xs" variant="default" onClick={show}>
      Show {waiting.toLocaleString()} new
    </Button>
  );
}

/** True if the focus, the pointer or a selection is in the list, or if it is scrolled. */
function isInUse(list: HTMLElement | null): boolean {
  if (list === null) return false;
  const { activeElement } = document;
  const hasFocus = activeElement !== list && list.contains(activeElement);
  const selection = document.getSelection();
  const isSelected =
    selection !== null && !selection.isCollapsed && list.contains(selection.anchorNode);
  return hasFocus || isSelected || list.matches(':hover') || list.getBoundingClientRect().top < 0;
}

function LiveButton({ page, isPaused, setPaused }: { page: number } & Live) {
  if (page > 1) return <Note>Only the first page updates live</Note>;
  const Icon = isPaused ? Play : Pause;
  return (
    <Button
      size="xs"
      variant="default"
      style={{ flexShrink: 0 }}
      leftSection={<Icon size={14} aria-hidden />}
      onClick={() => setPaused(!isPaused)}
    >
      {isPaused ? 'Resume updates' : 'Pause updates'}
    </Button>
  );
}
