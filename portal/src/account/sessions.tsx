import { Badge, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { accountSessions, endAccountSession, endOtherAccountSessions } from '../api/operations.ts';
import type { AccountSession } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { sessionDaysInWords } from '../../../service/src/contract/periods.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { useTimes, type Times } from '../ui/times.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { describeBrowser } from './describe-browser.ts';

export function Sessions() {
  const query = useQuery(accountSessions());
  const heading = useRef<HTMLHeadingElement>(null);
  const ended = () => moveFocusAfterWait(heading.current);
  return (
    <Section
      title="Sessions"
      lead={`The browsers that are signed in. A session ends ${sessionDaysInWords} days after it was last used.`}
      headingRef={heading}
    >
      <Loaded query={query}>
        {({ entries }) => (
          <Stack>
            <ul className="plain-list">
              {entries
                .toSorted((a, b) => Number(b.current) - Number(a.current))
                .map((session) => (
                  <SessionEntry key={session.id} session={session} ended={ended} />
                ))}
            </ul>
            {entries.some(({ current }) => !current) ? (
              <EndOthers ended={ended} />
            ) : (
              <Note>You have no other sessions.</Note>
            )}
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

/** `ended` moves the focus, because the button is gone. */
function SessionEntry({ session, ended }: { session: AccountSession; ended: () => void }) {
  const { ipAddress, userAgent, createdAt, current } = session;
  return (
    <Group component="li" justify="space-between" gap="sm">
      <div>
        <Group gap="xs">
          <Text fw={600}>{describeBrowser(userAgent)}</Text>
          {current && <Badge variant="default">Current session</Badge>}
        </Group>
        <Note>
          {ipAddress && `From ${ipAddress}. `}Signed in <Time at={createdAt} />
        </Note>
      </div>
      {!current && <EndSession session={session} ended={ended} />}
    </Group>
  );
}

function EndSession({ session, ended }: { session: AccountSession; ended: () => void }) {
  const name = describeSession(session, useTimes());
  const write = useWrite(() => endAccountSession(session.id), ['/account'], {
    done: () => {
      toastSuccess('Session ended.');
      ended();
    },
  });
  return (
    <Confirm
      button={{ children: 'End session', size: 'xs', 'aria-label': `End session: ${name}` }}
      title="End this session?"
      action="End session"
      write={write}
    >
      <Text>This browser is signed out at once: {name}.</Text>
    </Confirm>
  );
}

function EndOthers({ ended }: { ended: () => void }) {
  const write = useWrite(endOtherAccountSessions, ['/account'], {
    done: () => {
      toastSuccess('All other sessions ended.');
      ended();
    },
  });
  return (
    <div>
      <Confirm
        button={{ children: 'End all other sessions' }}
        title="End all other sessions?"
        action="End sessions"
        write={write}
      >
        <Text>All browsers except this one are signed out at once.</Text>
      </Confirm>
    </div>
  );
}

/** Identifies a session among others in the same kind of browser. */
function describeSession(
  { userAgent, ipAddress, createdAt }: AccountSession,
  { exact }: Times,
): string {
  const from = ipAddress ? `, from ${ipAddress}` : '';
  return `${describeBrowser(userAgent)}${from}, signed in ${exact(createdAt)}`;
}
