import { ScrollArea, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, type ReactNode, type Ref } from 'react';
import type { readPage } from '../api/read.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Pager, PastLastPage } from '../ui/pager.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { usePage } from '../ui/use-page.ts';

export type TableProps<Entry> = {
  title: string;
  columns: string[];
  /** The cells of an entry, of which the first names it. */
  row: (entry: Entry) => { key: string; cells: ReactNode[] };
};

type Props<Entry> = TableProps<Entry> & {
  lead: string;
  read: (page: number) => ReturnType<typeof readPage<Entry>>;
  /** Above the table, to choose what it shows. */
  filter?: ReactNode;
  none: string;
};

/** A page of the console with one table, a page of which is shown at a time. */
export function TablePage<Entry>({ title, lead, read, columns, row, filter, none }: Props<Entry>) {
  const [page, go] = usePage();
  const query = useQuery(read(page));
  const table = useRef<HTMLDivElement>(null);
  const goAndFocus = (to: number) => {
    go(to);
    moveFocus(table.current);
  };
  return (
    <Page title={title} lead={lead}>
      {filter}
      <Loaded query={query}>
        {({ entries, pagination }) => (
          <>
            {pagination.total === 0 && <Text role="status">{none}</Text>}
            {pagination.total > 0 && entries.length === 0 && <PastLastPage go={goAndFocus} />}
            {entries.length > 0 && (
              <EntryTable title={title} columns={columns} row={row} entries={entries} ref={table} />
            )}
            <Pager pagination={pagination} go={goAndFocus} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** A table of the console, which scrolls sideways on a narrow screen. */
export function EntryTable<Entry>({
  title,
  columns,
  row,
  entries,
  ref,
}: TableProps<Entry> & { entries: Entry[]; ref?: Ref<HTMLDivElement> }) {
  return (
    <ScrollArea
      {...(ref && { viewportRef: ref })}
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': title }}
    >
      <Table miw={640}>
        <TableHead columns={columns.map((each) => ({ title: each }))} />
        <Table.Tbody>
          {entries.map(row).map(({ key, cells: [name, ...cells] }) => (
            <Table.Tr key={key}>
              <Table.Th scope="row" fw={500} miw="8rem">
                {name}
              </Table.Th>
              {cells.slice(0, columns.length - 1).map((cell, index) => (
                // Words stay whole: the table scrolls.
                <Table.Td key={columns[index + 1]} style={{ overflowWrap: 'break-word' }}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
