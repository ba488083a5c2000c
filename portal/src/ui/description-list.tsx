import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './description-list.module.css';

export type Term = [term: string, value: ReactNode];

type Props = { entries: Term[]; layout?: 'list' | 'grid' | 'line'; isCode?: boolean };

/**
 * Terms with their values. `list`: the value is next to the term if there is room; `grid`: below it, in columns; `line`:
 * below it, small, in a row.
 */
export function DescriptionList({ entries, layout = 'list', isCode = false }: Props) {
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
