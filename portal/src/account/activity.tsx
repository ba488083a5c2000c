import { Text } from '@mantine/core';
import { accountActivity } from '../api/operations.ts';
import type { AccountActivityEntry } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { PagedList } from '../ui/paged-list.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { describeActivity } from './describe-activity.ts';
import { describeBrowser } from './describe-browser.ts';
import { methodName } from './method-name.ts';

const perPage = 10;

/** Lists sign-ins, failed sign-ins and changes to the account, from the audit log. */
export function Activity() {
  return (
    <Section
      title="Recent activity"
      lead="Sign-ins and changes to your account, newest first. If you don't recognise something, change your password."
    >
      <PagedList
        name="Recent activity"
        read={(page) => accountActivity({ page, limit: perPage })}
        empty={<Note>No activity yet.</Note>}
      >
        {(entry) => <ActivityEntry key={entry.id} entry={entry} />}
      </PagedList>
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
      <Note>
        <Time at={at} />
        {browser && ` · ${browser}`}
        {addresses.length > 0 && ` · ${addresses.join(', ')}`}
      </Note>
    </li>
  );
}

function addressesOf({ ipAddress, details }: AccountActivityEntry): string[] {
  const { ips } = details as { ips?: string[] };
  return ips ?? (ipAddress ? [ipAddress] : []);
}
