import { Breadcrumbs, Stack } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { isConsole, pageData } from '../page-data.ts';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { TitleRow, type TitleRowProps } from '../ui/title-row.tsx';

export type Crumb = { title: string; to: string };

/** False until the first page was shown, which leaves the focus to the browser. */
let hasShownPage = false;

/**
 * A page with its title, breadcrumbs and actions. The heading takes the focus on navigation, so that screen readers
 * announce the new page, unless somebody has moved the focus while the page loaded. `tab` distinguishes the window titles of pages with the same heading.
 */
export function Page({
  crumbs = [],
  tab,
  children,
  ...title
}: TitleRowProps & { title: string; crumbs?: Crumb[]; tab?: string; children: ReactNode }) {
  const heading = useHeading(tab === undefined ? title.title : `${tab} · ${title.title}`);
  return (
    <Stack gap="md">
      <Stack gap={4}>
        {crumbs.length > 0 && <Crumbs crumbs={crumbs} />}
        <TitleRow {...title} order={1} size="h2" ref={heading} />
      </Stack>
      {children}
    </Stack>
  );
}

export function useHeading(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${pageData.serviceName} ${isConsole ? 'console' : 'developers'}`;
  }, [title]);
  useEffect(() => {
    if (hasShownPage) moveFocusAfterWait(heading.current);
    hasShownPage = true;
  }, []);
  return heading;
}

function Crumbs({ crumbs }: { crumbs: Crumb[] }) {
  return (
    <nav aria-label="Breadcrumbs">
      <Breadcrumbs
        separatorMargin={6}
        style={{ flexWrap: 'wrap' }}
        styles={{ breadcrumb: { whiteSpace: 'normal' } }}
      >
        {crumbs.map(({ title, to }) => (
          <PageLink key={to} to={to} size="sm">
            {title}
          </PageLink>
        ))}
      </Breadcrumbs>
    </nav>
  );
}
