import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { createRecoveryCodes, removeAuthenticator, secondFactor } from '../api/operations.ts';
import type { AddedFactor, SecondFactorState } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Page } from '../layout/page.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus, moveFocusAfterWait } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { AddAuthenticator } from './add-authenticator.tsx';
import { AddPasskey } from './add-passkey.tsx';
import { Passkeys } from './passkeys.tsx';
import { RecoveryCodesOnce } from './recovery-codes-once.tsx';

/** The second factor of the account: passkeys, an authenticator app and recovery codes. */
export function SecurityPage() {
  const query = useQuery(secondFactor());
  const [codes, setCodes] = useState<string[] | null>(null);
  const added = ({ recoveryCodes }: AddedFactor, message: string) => {
    toastSuccess(message);
    if (recoveryCodes) setCodes(recoveryCodes);
  };
  return (
    <Page
      title="Security"
      lead={
        <>
          With a second factor, a stolen password is not enough to open your account. Your password,
          providers and sessions are under <PageLink to="/account">Account</PageLink>.
        </>
      }
    >
      {codes && <LeaveGuard lost="recovery codes" />}
      {codes && (
        <RecoveryCodesOnce
          key={codes[0]}
          codes={codes}
          done={() => {
            setCodes(null);
            moveFocus();
          }}
        />
      )}
      <Loaded query={query}>
        {(state) => (
          <Stack gap="lg">
            <PasskeySection state={state} added={added} />
            <AuthenticatorSection state={state} added={added} />
            <RecoverySection state={state} created={setCodes} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

type Props = {
  state: SecondFactorState;
  added: (factor: AddedFactor, message: string) => void;
};

function PasskeySection({ state, added }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Passkeys"
      lead="A passkey signs you in with your fingerprint, your face or the PIN of your device, without a password."
      headingRef={heading}
    >
      <Passkeys passkeys={state.passkeys} removed={() => moveFocusAfterWait(heading.current)} />
      <AddPasskey added={(factor) => added(factor, 'Passkey added.')} />
    </Section>
  );
}

function AuthenticatorSection({ state: { authenticator }, added }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const remove = useWrite(() => removeAuthenticator(), ['/account'], {
    done: () => {
      toastSuccess('Authenticator app removed.');
      moveFocusAfterWait(heading.current);
    },
  });
  return (
    <Section
      title="Authenticator app"
      lead="An app on your phone shows a new code every 30 seconds. You enter one after your password."
      headingRef={heading}
    >
      {authenticator ? (
        <Stack align="flex-start">
          <Text size="sm">
            Added <Time at={authenticator.addedAt} />
          </Text>
          <Confirm
            button={{ children: 'Remove the authenticator app', size: 'xs' }}
            title="Remove the authenticator app?"
            action="Remove"
            write={remove}
          >
            <Text>Its codes will no longer work, and you will be signed out everywhere else.</Text>
          </Confirm>
        </Stack>
      ) : (
        <AddAuthenticator added={(factor) => added(factor, 'Authenticator app added.')} />
      )}
    </Section>
  );
}

function RecoverySection({
  state: { passkeys, authenticator, recoveryCodesLeft },
  created,
}: {
  state: SecondFactorState;
  created: (codes: string[]) => void;
}) {
  const write = useWrite(() => createRecoveryCodes(), ['/account'], {
    done: ({ recoveryCodes }) => created(recoveryCodes),
  });
  if (passkeys.length === 0 && authenticator === null) return null;
  return (
    <Section
      title="Recovery codes"
      lead="Each code signs you in once, after your password, if you lose your passkeys and your authenticator app."
    >
      <Stack align="flex-start">
        <Text size="sm">
          {recoveryCodesLeft === 1 ? '1 code is left.' : `${recoveryCodesLeft} codes are left.`}
        </Text>
        <Confirm
          button={{ children: 'Create new codes', size: 'xs' }}
          title="Create new recovery codes?"
          action="Create new codes"
          color="blue.8"
          write={write}
        >
          <Text>The earlier codes will no longer work.</Text>
        </Confirm>
      </Stack>
    </Section>
  );
}
