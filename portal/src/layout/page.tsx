import { Anchor, Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { Link } from 'react-router';
import { pageData } from '../page-data.ts';

export type Crumb = { title: string; to: string };

/** False until the first page was shown, which leaves the focus to the browser. */
let hasShownPage = false;

/**
 * A page with its title, breadcrumbs and actions. The heading takes the focus on navigation, so that screen readers
 * announce the new page.
 */
export function Page({
  title,
  lead,
  crumbs = [],
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  crumbs?: Crumb[];
  actions?: ReactNode;
  children: ReactNode;
}) {
  const heading = useHeading(title);
  return (
    <Stack gap="lg">
      <Stack gap={4}>
        {crumbs.length > 0 && <Way crumbs={crumbs} />}
        <Group justify="space-between" align="flex-start" gap="sm">
          <Title order={1} size="h2" ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {lead && (
          <Text component="div" c="dimmed" maw="70ch">
            {lead}
          </Text>
        )}
      </Stack>
      {children}
    </Stack>
  );
}

export function useHeading(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${pageData.serviceName} developers`;
  }, [title]);
  useEffect(() => {
    if (hasShownPage) heading.current?.focus();
    hasShownPage = true;
  }, []);
  return heading;
}

function Way({ crumbs }: { crumbs: Crumb[] }) {
  return (
    <nav aria-label="Breadcrumbs">
      <Breadcrumbs separatorMargin={6} style={{ flexWrap: 'wrap' }}>
        {crumbs.map(({ title, to }) => (
          <Anchor key={to} component={Link} to={to} size="sm">
            {title}
          </Anchor>
        ))}
      </Breadcrumbs>
    </nav>
  );
}
