import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { accountSessions, endAccountSession, endOtherAccountSessions } from '../api/operations.ts';
import type { AccountSession } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { describeSession } from './describe-session.ts';
import { SessionEntry } from './session-entry.tsx';

type Asked = AccountSession | 'others';

export function Sessions() {
  const query = useQuery(accountSessions());
  const [asked, setAsked] = useState<Asked | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Sessions"
      lead="The browsers that are signed in. A session ends seven days after it was last used."
      headingRef={heading}
    >
      <Loaded query={query}>
        {({ entries }) => <SessionList sessions={entries} ask={setAsked} />}
      </Loaded>
      <EndSession
        asked={asked}
        close={() => setAsked(null)}
        // The button that was pressed is gone.
        ended={() => moveFocus(heading.current)}
      />
    </Section>
  );
}

function SessionList({
  sessions,
  ask,
}: {
  sessions: AccountSession[];
  ask: (asked: Asked) => void;
}) {
  const currentFirst = sessions.toSorted((a, b) => Number(b.current) - Number(a.current));
  return (
    <Stack align="flex-start">
      <Stack component="ul" gap="sm" m={0} p={0} w="100%" style={{ listStyle: 'none' }}>
        {currentFirst.map((session) => (
          <SessionEntry key={session.id} session={session} end={() => ask(session)} />
        ))}
      </Stack>
      {sessions.every(({ current }) => current) ? (
        <Text size="sm" c="dimmed">
          You have no other sessions.
        </Text>
      ) : (
        <Button variant="default" onClick={() => ask('others')}>
          End all other sessions
        </Button>
      )}
    </Stack>
  );
}

function EndSession({
  asked,
  close,
  ended,
}: {
  /** Null: the dialogue is closed. */
  asked: Asked | null;
  close: () => void;
  ended: () => void;
}) {
  const ending = useWrite(
    (which: Asked) =>
      which === 'others' ? endOtherAccountSessions() : endAccountSession(which.id),
    ['/account'],
  );
  const shut = () => {
    ending.reset();
    close();
  };
  const confirm = () => {
    if (asked === null) return;
    ending.mutate(asked, {
      onSuccess: () => {
        shut();
        toastSuccess(asked === 'others' ? 'All other sessions ended.' : 'Session ended.');
        ended();
      },
    });
  };
  const isOne = asked !== null && asked !== 'others';
  return (
    <Confirm
      opened={asked !== null}
      title={isOne ? 'End this session?' : 'End all other sessions?'}
      action={isOne ? 'End session' : 'End sessions'}
      busy={ending.isPending}
      error={ending.error}
      confirm={confirm}
      close={shut}
    >
      <Text>
        {isOne
          ? `This browser is signed out at once: ${describeSession(asked)}.`
          : 'All browsers except this one are signed out at once.'}
      </Text>
    </Confirm>
  );
}
