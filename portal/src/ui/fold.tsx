import { Stack, Title, type TitleOrder } from '@mantine/core';
import { ChevronRight } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import classes from './fold.module.css';

/** Collapsible content below a heading and a summary, as a native `details` element. */
export function Fold({
  id,
  order,
  title,
  monospace = false,
  summary,
  open = false,
  onOpen,
  children,
}: {
  id?: string;
  order: TitleOrder;
  title: ReactNode;
  monospace?: boolean;
  summary: ReactNode;
  /** The initial state. */
  open?: boolean;
  onOpen?: () => void;
  children: ReactNode;
}) {
  // Only the user opens and closes it: later changes of `open` have no effect.
  const [isOpen] = useState(open);
  return (
    <details
      {...(id !== undefined && { id })}
      className={classes['fold']}
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && onOpen?.()}
    >
      <summary className={classes['summary']}>
        <ChevronRight size={16} aria-hidden className={classes['arrow'] ?? ''} />
        <Title order={order} size="h5" {...(monospace && { ff: 'monospace' })}>
          {title}
        </Title>
        <div className={classes['rest']}>{summary}</div>
      </summary>
      <Stack className={classes['content'] ?? ''} gap="md">
        {children}
      </Stack>
    </details>
  );
}

/** A smaller fold for secondary content. */
export function SmallFold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className={classes['small']}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
