import { useRef, type ReactNode } from 'react';
import type { Pagination } from '../api/types.ts';
import { Pager } from './pager.tsx';

/** A part of a list, and the way to the others. Who goes there has the focus on the list, and hears which part it is. */
export function Paged({
  name,
  page,
  pagination,
  go,
  children,
}: {
  /** Of the list. */
  name: string;
  /** The one that was asked for. */
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
