/** One entry of the directory: its fields with a form, and what operators have changed in it. */
import {
  Checkbox,
  Group,
  NativeSelect,
  SimpleGrid,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useNavigate, useParams } from 'react-router';
import { escapeControls } from '../api/escape-names.ts';
import {
  deleteEntry,
  entry as readEntry,
  everyChange,
  updateEntry,
  type Entries,
} from '../api/operations.ts';
import type { OperatorAuditEntry } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { NotFoundPage } from '../layout/not-found-page.tsx';
import { Page } from '../layout/page.tsx';
import { capitalise } from '../ui/capitalise.ts';
import { Confirm } from '../ui/confirm.tsx';
import { describeError } from '../ui/describe-error.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { Form } from '../ui/form.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { isFocusTaken, moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { OlderPages, useChoice } from './choices.tsx';
import { kindIn } from './directory-page.tsx';
import {
  changesOf,
  fieldsOf,
  valuesOf,
  type Field,
  type Value,
  type EntryKind,
} from './entry-fields.ts';
import { useMayChange } from './suspend.tsx';

export function EntryPage() {
  const { kind: given, name = '' } = useParams();
  const kind = kindIn(given);
  return kind ? <EntryOf kind={kind} name={name} /> : <NotFoundPage />;
}

type Of = { kind: EntryKind; name: string };
type Shown = Of & { entry: Entries[EntryKind] };

function EntryOf({ kind, name }: Of) {
  const mayChange = useMayChange();
  const query = useQuery(readEntry(kind, name));
  return (
    <Page title={escapeControls(query.data?.value.name ?? name)} lead={<Note>{name}</Note>}>
      <Loaded query={query}>
        {({ value: entry, etag }) => (
          <>
            <Section title="Fields">
              {mayChange ? (
                <EntryForm key={entry.id} kind={kind} name={name} entry={entry} etag={etag} />
              ) : (
                <Values kind={kind} entry={entry} />
              )}
            </Section>
            <History id={entry.id} />
            {mayChange && <Delete kind={kind} name={name} entry={entry} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Values({ kind, entry }: Omit<Shown, 'name'>) {
  const values = valuesOf(entry, fieldsOf[kind]);
  return (
    <DescriptionList
      entries={fieldsOf[kind].map((field) => [
        field.label,
        describe(values[field.name] ?? '', field),
      ])}
    />
  );
}

function describe(value: Value, { kind }: Field): ReactNode {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (value === '') return 'None';
  if (kind === 'list') return value.replaceAll('\n', ', ');
  return <span style={{ whiteSpace: 'pre-wrap' }}>{value}</span>;
}

type EditedProps = Shown & { etag: string | null };

/** The values as they are edited, which of them differ, and the write that saves those. */
function useEdits({ kind, name, entry, etag }: EditedProps) {
  const fields = fieldsOf[kind];
  // What was read when the form was opened: only fields that differ from it are sent, so that nobody else's change is undone.
  const [before, setBefore] = useState(() => valuesOf(entry, fields));
  const [values, setValues] = useState(before);
  const [version, setVersion] = useState(etag);
  const body = changesOf(before, values, fields);
  // A list is sent as a whole, so nobody may have changed it meanwhile.
  const hasList = fields.some((field) => field.kind === 'list' && field.name in body);
  const save = async () => ({
    sent: values,
    saved: await updateEntry(kind, name, body, hasList ? version : null),
  });
  const write = useWrite(save, ['/operator'], {
    done: ({ sent, saved: { value: saved, etag: next } }) => {
      setVersion(next);
      const now = valuesOf(saved, fields);
      setBefore(now);
      // What was typed while it was saved stays.
      setValues((typed) =>
        Object.fromEntries(
          Object.entries(now).map(([field, value]) => [
            field,
            typed[field] === sent[field] ? value : (typed[field] ?? value),
          ]),
        ),
      );
      toastSuccess(`${saved.name} is saved.`);
    },
  });
  return { values, setValues, body, write };
}

function EntryForm(props: EditedProps) {
  const fields = fieldsOf[props.kind];
  const { values, setValues, body, write } = useEdits(props);
  const faults = write.error ? describeError(write.error).fields : {};
  const faultOf = (field: Field) =>
    Object.entries(faults).find(
      ([path]) => path === field.name || path.startsWith(`${field.name}.`),
    )?.[1];
  const grid = useRef<HTMLDivElement>(null);
  // The form is long, so the fault may be out of view.
  useEffect(() => {
    if (write.error && !isFocusTaken())
      grid.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [write.error]);
  const isAtField = fields.some((field) => faultOf(field) !== undefined);
  const isChanged = Object.keys(body).length > 0;
  return (
    <Form
      action="Save"
      write={isAtField ? { isPending: write.isPending, error: null } : write}
      disabled={!isChanged}
      noValidate
      submit={() => write.mutate(undefined)}
    >
      {isChanged && <LeaveGuard lost="changes" />}
      <SimpleGrid cols={{ base: 1, sm: 2 }} ref={grid}>
        {fields.map((field) => (
          <Input
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            fault={faultOf(field)}
            change={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
      </SimpleGrid>
    </Form>
  );
}

type InputProps = {
  field: Field;
  value: Value;
  fault: string | undefined;
  change: (value: Value) => void;
};

function Input({ field: { label, kind, required }, value, fault, change }: InputProps) {
  if (typeof value === 'boolean')
    return (
      <Checkbox
        label={label}
        checked={value}
        onChange={({ currentTarget: { checked } }) => change(checked)}
      />
    );
  const shared = {
    label,
    value,
    error: fault === undefined ? undefined : `${capitalise(fault)}.`,
    withAsterisk: required ?? false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      change(currentTarget.value),
  };
  if (typeof kind === 'object') return <NativeSelect {...shared} data={kind.choices} />;
  if (kind === 'long' || kind === 'list')
    return <Textarea {...shared} autosize minRows={2} maxRows={10} />;
  return <TextInput {...shared} inputMode={kind === 'number' ? 'decimal' : 'text'} />;
}

const goesWith: Record<EntryKind, string> = {
  orgs: 'Its managers and the bindings of apps to it go with it.',
  alliances: 'Its organisations stay, without an alliance.',
  blueprints: 'To retire it instead, clear “Active”.',
};

function Delete({ kind, name, entry }: Shown) {
  const navigate = useNavigate();
  const write = useWrite(() => deleteEntry(kind, name), ['/operator'], {
    gone: `/operator/${kind}/${encodeURIComponent(name)}`,
    done: () => {
      toastSuccess(`${entry.name} is deleted.`);
      void navigate(`/directory?kind=${kind}`, { replace: true });
      moveFocusAfterWait();
    },
  });
  return (
    <Group>
      <Confirm
        button={{ children: 'Delete', color: 'red.9' }}
        title={`Delete ${entry.name}?`}
        action="Delete"
        typed={entry.name}
        write={write}
      >
        <Text size="sm">{goesWith[kind]}</Text>
      </Confirm>
    </Group>
  );
}

function History({ id }: { id: string }) {
  const [before] = useChoice('before');
  const query = useQuery(everyChange({ subject: id, before }));
  return (
    <Section
      title="History"
      lead="What was changed in this console, and its managers. What the platform writes is not kept."
    >
      <Loaded query={query}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 && <Text role="status">Nothing was changed here.</Text>}
            <ul className="plain-list" aria-label="History">
              {data.map((change) => (
                <Change key={change.id} change={change} />
              ))}
            </ul>
            <OlderPages {...pagination} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

const actions: Record<string, string> = {
  'entry.created': 'created it',
  'entry.changed': 'changed it',
  'entry.deleted': 'deleted it',
  'manager.added': 'added a manager',
  'manager.removed': 'removed a manager',
};

function Change({ change: { action, actor, at, details } }: { change: OperatorAuditEntry }) {
  const {
    changes = {},
    private: hidden = [],
    email,
  } = details as {
    changes?: Record<string, [string | null, string | null]>;
    private?: string[];
    email?: string;
  };
  return (
    <li>
      <Text>
        <strong>{actor.name}</strong> {actions[action] ?? action}
        {email && `: ${email}`}
      </Text>
      {Object.entries(changes).map(([field, [old, now]]) => (
        <Text key={field} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {field}: {old ?? 'nothing'} → {now ?? 'nothing'}
        </Text>
      ))}
      {hidden.length > 0 && <Text size="sm">{hidden.join(', ')}: private</Text>}
      <Note>
        <Time at={at} />
      </Note>
    </li>
  );
}
