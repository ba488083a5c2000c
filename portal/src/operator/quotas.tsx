import { NumberInput, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { quotasMax } from '../../../service/src/contract/quotas.ts';
import { changeQuotas, quotas } from '../api/operations.ts';
import type { OperatorApp, OperatorQuota } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { useUnsaved } from '../session/unsaved.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useMayChange } from './suspend.tsx';

type App = Pick<OperatorApp, 'id' | 'name'>;

/** The quotas of an app, and a form to change them for those who may. */
export function Quotas({ app }: { app: App }) {
  const title = `Quotas of ${app.name}`;
  return (
    <DialogButton button={{ size: 'xs', 'aria-label': title, children: 'Quotas' }} title={title}>
      {(cancel, close) => <Shown app={app} cancel={cancel} close={close} />}
    </DialogButton>
  );
}

function Shown({ app, ...dialog }: { app: App } & Closing) {
  const mayChange = useMayChange();
  return (
    <Loaded query={useQuery({ ...quotas(app.id), gcTime: 0 })}>
      {({ entries }) =>
        mayChange ? (
          <Change app={app} inForce={entries} {...dialog} />
        ) : (
          <DescriptionList
            entries={entries.map(({ quota, limit, used }) => [
              labels[quota],
              [limit?.toLocaleString() ?? 'As usual', describeUse(used)].filter(Boolean).join(', '),
            ])}
          />
        )
      }
    </Loaded>
  );
}

type Closing = { cancel: () => void; close: () => void };
type Props = { app: App; inForce: OperatorQuota[] } & Closing;

function Change({ app, inForce, cancel, close }: Props) {
  // As they were when the form was opened: what nobody touches is not sent.
  const [before] = useState(() =>
    Object.fromEntries(
      inForce.map(({ quota, limit, isDefault }) => [quota, isDefault ? '' : (limit ?? '')]),
    ),
  );
  const [chosen, setChosen] = useState<Record<string, string | number>>(before);
  const changed = Object.entries(chosen).filter(([quota, value]) => value !== before[quota]);
  useUnsaved(changed.length > 0);
  const write = useWrite(
    () =>
      changeQuotas(
        app.id,
        Object.fromEntries(changed.map(([quota, value]) => [quota, value === '' ? null : value])),
      ),
    ['/operator'],
    {
      done: () => {
        close();
        toastSuccess(`The quotas of ${app.name} are changed.`);
      },
    },
  );
  return (
    <Form
      layout="dialog"
      action="Save"
      write={write}
      disabled={changed.length === 0}
      cancel={cancel}
      submit={() => write.mutate(undefined)}
    >
      <Text size="sm">
        An empty field returns to the default. What the app has beyond a quota stays, and it gets no
        more.
      </Text>
      <Stack gap="sm">
        {inForce.map(({ quota, limit, isDefault, used }) => (
          <NumberInput
            key={quota}
            label={labels[quota]}
            description={[isDefault && 'Default', describeUse(used)].filter(Boolean).join(', ')}
            placeholder={isDefault ? (limit?.toLocaleString() ?? 'As usual') : ''}
            min={1}
            max={quotasMax[quota]}
            clampBehavior="none"
            allowDecimal={false}
            value={chosen[quota] ?? ''}
            onChange={(value) => setChosen({ ...chosen, [quota]: value })}
          />
        ))}
      </Stack>
    </Form>
  );
}

const labels: Record<OperatorQuota['quota'], string> = {
  rate: 'Requests per minute',
  webhooks: 'Webhooks',
  keys: 'Keys',
  members: 'Members',
};

function describeUse(used: number | null): string | null {
  return used === null ? null : `${used.toLocaleString()} used`;
}
