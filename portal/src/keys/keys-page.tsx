import { Text } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'react-router';
import { keys } from '../api/operations.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { RoleNote } from '../apps/role-note.tsx';
import { useApp } from '../apps/use-app.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { PagedList } from '../ui/paged-list.tsx';
import { useLeaveGuard } from '../ui/use-leave-guard.tsx';
import { CreateKey } from './create-key.tsx';
import { KeyEntry } from './key-entry.tsx';
import { NewKey, type IssuedKey } from './new-key.tsx';

const perPage = 20;
/** The limit of the service per app. */
const validKeysMax = 20;

/** Lists the keys of an app, below a form for a new one. New keys are shown until the user dismisses them. */
export function KeysPage() {
  const { appId = '' } = useParams();
  const [issued, setIssued] = useState<IssuedKey[]>([]);
  /** Empties the form after each. */
  const [made, setMade] = useState(0);
  const guard = useLeaveGuard(issued.length > 0, 'key');
  const mayChange = can(useApp(), 'changeKeys');
  const show = (key: IssuedKey) => setIssued((others) => [key, ...others]);
  const created = (key: IssuedKey) => {
    show(key);
    setMade((count) => count + 1);
  };
  const dismiss = (id: string) => {
    setIssued((all) => all.filter((key) => key.id !== id));
    moveFocus();
  };
  return (
    <AppFrame
      title="Keys"
      lead={`Programs call the API with a key. At most ${validKeysMax} can be valid at a time.`}
    >
      {({ keyCount }) => (
        <>
          {guard.dialog}
          <RoleNote action="changeKeys" to="create, rotate or revoke keys" />
          {issued.map((key) => (
            <NewKey key={key.id} issued={key} done={() => dismiss(key.id)} />
          ))}
          {mayChange &&
            (keyCount < validKeysMax ? (
              <CreateKey key={made} appId={appId} done={created} />
            ) : (
              <Full />
            ))}
          <PagedList
            name="Keys"
            read={(page) => keys(appId, { page, limit: perPage })}
            empty={<Text c="dimmed">This app has no keys yet.</Text>}
          >
            {(key) => (
              <KeyEntry key={key.id} appId={appId} apiKey={key} mayChange={mayChange} show={show} />
            )}
          </PagedList>
        </>
      )}
    </AppFrame>
  );
}

function Full() {
  return (
    <Text size="sm">
      This app has {validKeysMax} valid keys, the most that an app may have. Revoke one to make room
      for another.
    </Text>
  );
}
