import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './description-list.module.css';

export type Term = [term: string, value: ReactNode];

/**
 * What is known of something, each with its name. `list`: beside it where there is room; `grid`: above it, in columns;
 * `line`: above it, small, one after the other.
 */
export function DescriptionList({
  entries,
  layout = 'list',
  isCode = false,
}: {
  entries: Term[];
  layout?: 'list' | 'grid' | 'line';
  isCode?: boolean;
}) {
  const font = isCode ? { ff: 'monospace', fz: 'xs' } : { fz: 'sm' };
  return (
    <dl className={classes[layout] ?? ''}>
      {entries.map(([term, value]) => (
        <div key={term}>
          <Text component="dt" c="dimmed" {...font} {...(layout === 'line' && { fz: 'xs' })}>
            {term}
          </Text>
          <Text component="dd" m={0} {...font}>
            {value}
          </Text>
        </div>
      ))}
    </dl>
  );
}
