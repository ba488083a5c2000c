import { Stack, Title, type TitleOrder } from '@mantine/core';
import { ChevronRight } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import classes from './fold.module.css';

/** Something long, folded to its heading and a line or two. The browser's own element: it works without more. */
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
  /** Whether it is open to begin with. */
  open?: boolean;
  onOpen?: () => void;
  children: ReactNode;
}) {
  // It is opened and closed by whoever reads it: nothing that comes later does so for them.
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

/** The same for what few will want to see. */
export function SmallFold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className={classes['small']}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
