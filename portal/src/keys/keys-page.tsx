import { Button, Text } from '@mantine/core';
import { Plus } from '../ui/icons.tsx';
import { useRef, useState } from 'react';
import { useParams } from 'react-router';
import { keys } from '../api/operations.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { RoleNote } from '../apps/role-note.tsx';
import { useApp } from '../apps/use-app.ts';
import { Empty } from '../ui/empty.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { PagedList } from '../ui/paged-list.tsx';
import { CreateKey } from './create-key.tsx';
import { KeyEntry } from './key-entry.tsx';
import { NewKey, type IssuedKey } from './new-key.tsx';

const perPage = 20;
/** The limit of the service per app. */
const validKeysMax = 20;

/** Lists the keys of an app. New keys are shown above until the user dismisses them. */
export function KeysPage() {
  const { appId = '' } = useParams();
  const [isCreating, setIsCreating] = useState(false);
  const [issued, setIssued] = useState<IssuedKey[]>([]);
  const newKey = useRef<HTMLButtonElement>(null);
  const mayChange = can(useApp(), 'changeKeys');
  const create = () => setIsCreating(true);
  const show = (key: IssuedKey) => {
    setIsCreating(false);
    setIssued((others) => [key, ...others]);
  };
  const cancel = () => {
    setIsCreating(false);
    moveFocus(newKey.current);
  };
  const dismiss = (id: string) => {
    setIssued((all) => all.filter((key) => key.id !== id));
    moveFocus(newKey.current);
  };
  return (
    <AppFrame
      title="Keys"
      lead="Programs call the API with a key. At most 20 can be valid at a time."
      actions={
        mayChange && (
          <Button
            ref={newKey}
            leftSection={<Plus size={16} aria-hidden />}
            aria-expanded={isCreating}
            onClick={create}
          >
            New key
          </Button>
        )
      }
    >
      {({ keyCount }) => (
        <>
          <RoleNote action="changeKeys" to="create, rotate or revoke keys" />
          {mayChange && keyCount >= validKeysMax && issued.length === 0 && <Full />}
          {mayChange && isCreating && <CreateKey appId={appId} done={show} cancel={cancel} />}
          {issued.map((key) => (
            <NewKey key={key.id} issued={key} done={() => dismiss(key.id)} />
          ))}
          <PagedList
            name="Keys"
            read={(page) => keys(appId, { page, limit: perPage })}
            empty={!isCreating && <NoKeys {...(mayChange && { create })} />}
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

function NoKeys({ create }: { create?: () => void }) {
  return (
    <Empty
      title="This app has no keys yet"
      action={create && <Button onClick={create}>Create the first key</Button>}
    >
      {create
        ? 'Create one for each place that calls the API, such as “Production server”, so that you can revoke each on its own. A key can do only what you choose.'
        : 'Programs need one to call the API.'}
    </Empty>
  );
}
