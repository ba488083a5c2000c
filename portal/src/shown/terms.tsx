import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './terms.module.css';

/** What something is made of: each with its name, beside it where there is room. */
export function Terms({
  entries,
  isCode = false,
}: {
  entries: [term: string, value: ReactNode][];
  isCode?: boolean;
}) {
  const font = isCode ? { ff: 'monospace', fz: 'xs' } : { fz: 'sm' };
  return (
    <dl className={classes['list'] ?? ''}>
      {entries.map(([term, value]) => (
        <div key={term}>
          <Text component="dt" c="dimmed" {...font}>
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
