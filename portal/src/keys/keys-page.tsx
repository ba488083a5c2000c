import { Text } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'react-router';
import { defaultQuotas } from '../../../service/src/contract/quotas.ts';
import { keys } from '../api/operations.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { RoleNote } from '../apps/role-note.tsx';
import { useApp } from '../apps/use-app.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { PagedList } from '../ui/paged-list.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { CreateKey } from './create-key.tsx';
import { KeyEntry } from './key-entry.tsx';
import { NewKey, type IssuedKey } from './new-key.tsx';

const perPage = 20;

/** Lists the keys of an app, below a form for a new one. New keys are shown until the user dismisses them. */
export function KeysPage() {
  const { appId = '' } = useParams();
  const [issued, setIssued] = useState<IssuedKey[]>([]);
  /** Empties the form after each. */
  const [made, setMade] = useState(0);
  const app = useApp();
  const mayChange = can(app, 'changeKeys');
  const max = app?.quotas?.keys ?? defaultQuotas.keys;
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
      lead={`Programs call the API with a key. At most ${max} can be valid at a time.`}
    >
      {({ keyCount }) => (
        <>
          {issued.length > 0 && <LeaveGuard lost="key" />}
          <RoleNote action="changeKeys" to="create, rotate or revoke keys" />
          {issued.map((key) => (
            <NewKey key={key.id} issued={key} done={() => dismiss(key.id)} />
          ))}
          {mayChange &&
            (keyCount < max ? (
              <CreateKey key={made} appId={appId} done={created} />
            ) : (
              <Full count={keyCount} max={max} />
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

function Full({ count, max }: { count: number; max: number }) {
  return (
    <Text size="sm">
      This app has {count} valid keys and can have {max}. Revoke one to make room for another.
    </Text>
  );
}
