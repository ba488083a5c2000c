import { Button } from '@mantine/core';
import { pageData } from '../page-data.ts';
import { Section } from '../ui/section.tsx';

/** The browser saves the file itself, so that its size does not matter. */
export function ExportData() {
  return (
    <Section
      title="Your data"
      lead="A JSON file with your account, sessions, apps, keys and webhooks without their secrets, what you manage, and everything you did."
    >
      <div>
        <Button
          component="a"
          href={`${pageData.basePath}/portal/api/account/export`}
          download
          variant="default"
        >
          Export your data
        </Button>
      </div>
    </Section>
  );
}
