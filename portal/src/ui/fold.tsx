import { Stack, Text, Title } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { ChevronRight } from './icons.tsx';
import classes from './fold.module.css';

type Props = {
  id?: string;
  title: ReactNode;
  monospace?: boolean;
  summary: ReactNode;
  open?: boolean;
  onOpen?: () => void;
  children: ReactNode;
};

/** Collapsible content below a heading and a summary, as a native `details` element. */
export function Fold({
  id,
  title,
  monospace = false,
  summary,
  open = false,
  onOpen,
  children,
}: Props) {
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
        <Title order={3} size="h5" {...(monospace && { ff: 'monospace' })}>
          {title}
        </Title>
        <Text component="div" size="sm" c="dimmed" className={classes['rest'] ?? ''}>
          {summary}
        </Text>
      </summary>
      <Stack className={classes['content'] ?? ''} gap="md">
        {children}
      </Stack>
    </details>
  );
}

export function SmallFold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className={classes['small']}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
