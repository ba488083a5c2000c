import { useRef, type ReactNode } from 'react';
import type { Pagination } from '../api/types.ts';
import { Pager } from './pager.tsx';

/** One page of a list with a pager. The list takes the focus when the page changes, so that screen readers announce it. */
export function Paged({
  name,
  page,
  pagination,
  go,
  children,
}: {
  /** The name of the list. */
  name: string;
  /** The requested page. */
  page: number;
  pagination: Pagination;
  go: (page: number) => void;
  children: ReactNode;
}) {
  const list = useRef<HTMLElement>(null);
  return (
    <>
      <section ref={list} tabIndex={-1} aria-label={`${name}, page ${page}`}>
        {children}
      </section>
      <Pager
        pagination={pagination}
        go={(to) => {
          go(to);
          list.current?.focus();
        }}
      />
    </>
  );
}
