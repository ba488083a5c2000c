import { useQuery } from '@tanstack/react-query';
import { useRef, type ComponentProps, type ReactNode } from 'react';
import type { readPage } from '../api/read.ts';
import { Loaded } from './loaded.tsx';
import { moveFocus } from './move-focus.ts';
import { usePage } from './use-page.ts';
import { Pager, PastLastPage } from './pager.tsx';

type Props<Entry> = {
  name: string;
  read: (page: number) => ReturnType<typeof readPage<Entry>>;
  reset?: ComponentProps<typeof Loaded>['reset'];
  empty: ReactNode;
  children: (entry: Entry) => ReactNode;
};

/**
 * One page of a list with a pager. The address holds the page number. The list takes the focus when the page changes, so
 * that screen readers announce it.
 */
export function PagedList<Entry>({ name, read, reset, empty, children }: Props<Entry>) {
  const [page, go] = usePage();
  const query = useQuery(read(page));
  const list = useRef<HTMLElement>(null);
  const goAndFocus = (to: number) => {
    go(to);
    moveFocus(list.current);
  };
  return (
    <Loaded query={query} {...(reset && { reset })}>
      {({ entries, pagination }) => (
        <>
          <section ref={list} tabIndex={-1} aria-label={`${name}, page ${page}`}>
            {pagination.total === 0 && empty}
            {pagination.total > 0 && entries.length === 0 && <PastLastPage go={goAndFocus} />}
            {entries.length > 0 && (
              <ul className="plain-list" aria-label={name}>
                {entries.map(children)}
              </ul>
            )}
          </section>
          <Pager pagination={pagination} go={goAndFocus} />
        </>
      )}
    </Loaded>
  );
}
