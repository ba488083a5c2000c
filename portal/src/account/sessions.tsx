import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../shown/confirm.tsx';
import { Loaded } from '../shown/loaded.tsx';
import { sayDone } from '../shown/say.ts';
import { Section } from '../shown/section.tsx';
import { endOtherSessions, endSession, sessions, sessionsPath, type Session } from './account.ts';
import { describeSession } from './describe-session.ts';
import { SessionEntry } from './session-entry.tsx';
import { isStale, SignInAgain } from './sign-in-again.tsx';

/** Null: none is asked about. */
type Asked = Session | 'others' | null;

/** Wherever they are signed in. */
export function Sessions({ currentId }: { currentId: string }) {
  const query = useQuery(sessions());
  const [asked, setAsked] = useState<Asked>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Sessions"
      lead="Wherever you are signed in. A session ends seven days after it was last used."
      headingRef={heading}
    >
      {isStale(query.error) ? (
        <SignInAgain />
      ) : (
        <Loaded query={query}>
          {(found) => <List found={found} currentId={currentId} ask={setAsked} />}
        </Loaded>
      )}
      <End
        asked={asked}
        close={() => setAsked(null)}
        // What was ended is gone, with its button.
        ended={() => heading.current?.focus()}
      />
    </Section>
  );
}

function List({
  found,
  currentId,
  ask,
}: {
  found: Session[];
  currentId: string;
  ask: (asked: Asked) => void;
}) {
  const others = found
    .filter(({ id }) => id !== currentId)
    .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  const current = found.find(({ id }) => id === currentId);
  return (
    <Stack align="flex-start">
      <Stack component="ul" gap="sm" m={0} p={0} w="100%" style={{ listStyle: 'none' }}>
        {current && <SessionEntry session={current} />}
        {others.map((session) => (
          <SessionEntry key={session.id} session={session} end={() => ask(session)} />
        ))}
      </Stack>
      {others.length === 0 ? (
        <Text size="sm" c="dimmed">
          You are signed in nowhere else.
        </Text>
      ) : (
        <Button variant="default" onClick={() => ask('others')}>
          Sign out everywhere else
        </Button>
      )}
    </Stack>
  );
}

function End({ asked, close, ended }: { asked: Asked; close: () => void; ended: () => void }) {
  const ending = useWrite(
    (which: Session | 'others') => (which === 'others' ? endOtherSessions() : endSession(which)),
    [sessionsPath],
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
        sayDone(asked === 'others' ? 'You are signed out everywhere else.' : 'Signed out there.');
        ended();
      },
    });
  };
  return (
    <Confirm
      opened={asked !== null}
      title="Sign out there?"
      action="Sign out"
      busy={ending.isPending}
      error={ending.error}
      confirm={confirm}
      close={shut}
    >
      <Text>
        {asked === 'others' || asked === null
          ? 'Every session but this one ends at once.'
          : `It has to sign in again: ${describeSession(asked)}.`}
      </Text>
    </Confirm>
  );
}
