import { Anchor, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { accountActivity } from '../api/operations.ts';
import type { AccountActivityEntry } from '../api/types.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Paged } from '../ui/paged.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { usePage } from '../ui/use-page.ts';
import { describeActivity } from './describe-activity.ts';
import { describeBrowser } from './describe-browser.ts';
import { methodName } from './method-name.ts';

const perPage = 10;

/** Lists sign-ins, failed sign-ins and changes to the account, from the audit log. */
export function Activity() {
  const [page, go] = usePage();
  const query = useQuery(accountActivity({ page, limit: perPage }));
  return (
    <Section
      title="Recent activity"
      lead="Sign-ins and changes to your account, newest first. If you don't recognise something, change your password."
    >
      <Loaded query={query}>
        {({ entries, pagination }) => (
          <Paged name="Recent activity" page={page} pagination={pagination} go={go}>
            {entries.length === 0 ? (
              <Nothing page={page} go={go} />
            ) : (
              <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
                {entries.map((entry) => (
                  <ActivityEntry key={entry.id} entry={entry} />
                ))}
              </Stack>
            )}
          </Paged>
        )}
      </Loaded>
    </Section>
  );
}

function ActivityEntry({ entry }: { entry: AccountActivityEntry }) {
  const { at, userAgent } = entry;
  const addresses = addressesOf(entry);
  // An entry with several addresses counts failed sign-ins from several browsers.
  const browser = userAgent !== null && addresses.length <= 1 ? describeBrowser(userAgent) : null;
  return (
    <li>
      <Text fw={600}>{describeActivity(entry, methodName)}</Text>
      <Text size="sm" c="dimmed">
        <Time at={at} />
        {browser && ` · ${browser}`}
        {addresses.length > 0 && ` · ${addresses.join(', ')}`}
      </Text>
    </li>
  );
}

function addressesOf({ ipAddress, details }: AccountActivityEntry): string[] {
  const { ips } = details as { ips?: string[] };
  return ips ?? (ipAddress ? [ipAddress] : []);
}

function Nothing({ page, go }: { page: number; go: (page: number) => void }) {
  return (
    <Text size="sm" c="dimmed">
      {page === 1 ? (
        'No activity yet.'
      ) : (
        <>
          This page is past the last one.{' '}
          <Anchor component="button" type="button" inherit onClick={() => go(1)}>
            Go to the first page
          </Anchor>
        </>
      )}
    </Text>
  );
}
