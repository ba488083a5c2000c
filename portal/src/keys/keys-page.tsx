import { Anchor, Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useRef, useState } from 'react';
import { Link, useParams } from 'react-router';
import { keys } from '../api/operations.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { Empty } from '../ui/empty.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Paged } from '../ui/paged.tsx';
import { usePage } from '../ui/use-page.ts';
import { CreateKey } from './create-key.tsx';
import { KeyList } from './key-list.tsx';
import { NewKey, type MadeKey } from './new-key.tsx';

const perPage = 20;
/** The limit of the service per app. */
const validKeysMax = 20;

/** Lists the keys of an app. New keys are shown above until the user dismisses them. */
export function KeysPage() {
  const { appId = '' } = useParams();
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeKey[]>([]);
  const newKey = useRef<HTMLButtonElement>(null);
  const show = (key: MadeKey) => {
    setMaking(false);
    setMade((others) => [key, ...others]);
  };
  const cancel = () => {
    setMaking(false);
    moveFocus(newKey.current);
  };
  const putAway = (id: string) => {
    setMade((all) => all.filter((key) => key.id !== id));
    moveFocus(newKey.current);
  };
  return (
    <AppFrame
      title="Keys"
      lead="Programs call the API with a key. At most 20 can be valid at a time."
      actions={
        <Button
          ref={newKey}
          leftSection={<Plus size={16} aria-hidden />}
          aria-expanded={isMaking}
          onClick={() => setMaking(true)}
        >
          New key
        </Button>
      }
    >
      {({ keyCount }) => (
        <>
          {keyCount >= validKeysMax && made.length === 0 && (
            <Text size="sm">
              This app has {validKeysMax} valid keys, the most that an app may have. Revoke one to
              make room for another.
            </Text>
          )}
          {isMaking && <CreateKey appId={appId} done={show} cancel={cancel} />}
          {made.map((key) => (
            <NewKey key={key.id} made={key} done={() => putAway(key.id)} />
          ))}
          <Keys appId={appId} made={show} isMaking={isMaking} make={() => setMaking(true)} />
        </>
      )}
    </AppFrame>
  );
}

function Keys({
  appId,
  made,
  isMaking,
  make,
}: {
  appId: string;
  made: (key: MadeKey) => void;
  isMaking: boolean;
  make: () => void;
}) {
  const [page, go] = usePage();
  const query = useQuery(keys(appId, { page, limit: perPage }));
  return (
    <Loaded query={query}>
      {({ entries, pagination }) => {
        if (pagination.total === 0) return isMaking ? null : <NoKeys make={make} />;
        if (entries.length === 0)
          return (
            <Anchor component={Link} to={`/apps/${appId}/keys`} onClick={() => moveFocus()}>
              This page is past the last one. Go to the first page
            </Anchor>
          );
        return (
          <Paged name="Keys" page={page} pagination={pagination} go={go}>
            <KeyList appId={appId} keys={entries} made={made} />
          </Paged>
        );
      }}
    </Loaded>
  );
}

function NoKeys({ make }: { make: () => void }) {
  return (
    <Empty
      title="This app has no keys yet"
      action={<Button onClick={make}>Create the first key</Button>}
    >
      Create one for each place that calls the API, such as “Production server”, so that you can
      revoke each on its own. A key can do only what you choose.
    </Empty>
  );
}
