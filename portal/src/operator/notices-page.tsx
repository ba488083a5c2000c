/** What the operator tells all callers and developers: maintenance, and announcements. */
import { Checkbox, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  announcementCharsMax,
  severities,
  severityLabels,
} from '../../../service/src/contract/announcement.ts';
import {
  announce,
  announcements,
  changeMaintenance,
  endAnnouncement,
  maintenance,
} from '../api/operations.ts';
import type { Announcement, MaintenanceState, NewAnnouncement } from '../api/types.ts';
import { useOnce } from '../api/use-once.ts';
import { useWrite } from '../api/use-write.ts';
import { Page } from '../layout/page.tsx';
import { useUnsaved } from '../session/unsaved.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Form } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';
import { useMayChange } from './suspend.tsx';
import { EntryTable } from './table-page.tsx';

export function NoticesPage() {
  const mayChange = useMayChange();
  return (
    <Page
      title="Notices"
      lead="Maintenance, and announcements to all developers: in the portal, on the status page and in GET /status."
    >
      <Loaded query={useQuery(maintenance())}>
        {({ value, etag }) => <Maintenance key={String(value.enabled)} state={value} etag={etag} />}
      </Loaded>
      {mayChange && <Announce />}
      <Announced />
    </Page>
  );
}

const readsOfMaintenance = ['/operator/maintenance', 'public status'];

type MaintenanceProps = { state: MaintenanceState; etag: string | null };

function Maintenance({ state, etag }: MaintenanceProps) {
  const { enabled, since } = state;
  const mayChange = useMayChange();
  return (
    <Section
      title="Maintenance"
      lead="The public API responds with 503 and the message, and apps cannot be changed. Deliveries go on."
    >
      <Text role="status">
        {enabled && since ? (
          <>
            Maintenance has been on since <Time at={since} exact />.
          </>
        ) : (
          'Maintenance is off.'
        )}
      </Text>
      {mayChange && <ChangeMaintenance state={state} etag={etag} />}
      {mayChange && enabled && <EndMaintenance />}
    </Section>
  );
}

function ChangeMaintenance({ state: { enabled, message, expectedEnd }, etag }: MaintenanceProps) {
  // What the fields began with.
  const [before, setBefore] = useState({ etag, message: message ?? '', expectedEnd });
  const [text, setText] = useState(message ?? '');
  const [end, setEnd] = useState(expectedEnd);
  useUnsaved(text.trim() !== before.message || end !== before.expectedEnd);
  const write = useWrite(
    () =>
      changeMaintenance(
        {
          enabled: true,
          message: text.trim() || null,
          expectedEnd: end,
        },
        before.etag,
      ),
    readsOfMaintenance,
    {
      done: (saved) => {
        setBefore({ etag: saved.etag, message: text.trim(), expectedEnd: end });
        toastSuccess('Maintenance is on.');
        moveFocusAfterWait();
      },
    },
  );
  return (
    <Stack maw={480} align="flex-start">
      <TextInput
        w="100%"
        label="Message"
        description="Callers read it. Optional."
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
      />
      <TimeField
        w="100%"
        label="Expected end"
        description="Optional."
        value={end}
        onChange={setEnd}
      />
      <Confirm
        button={{ children: enabled ? 'Save' : 'Turn on' }}
        title={enabled ? 'Change the message and the end?' : 'Turn maintenance on?'}
        action={enabled ? 'Save' : 'Turn on'}
        color={enabled ? 'blue' : 'red.9'}
        write={write}
      >
        <Text size="sm">The public API responds with 503 within a second.</Text>
      </Confirm>
    </Stack>
  );
}

function EndMaintenance() {
  const write = useWrite(() => changeMaintenance({ enabled: false }, null), readsOfMaintenance, {
    done: () => moveFocusAfterWait(),
  });
  return (
    <Confirm
      button={{ children: 'Turn off' }}
      title="Turn maintenance off?"
      action="Turn off"
      color="blue"
      write={write}
    >
      <Text size="sm">The public API responds again within a second.</Text>
    </Confirm>
  );
}

const empty: NewAnnouncement = {
  severity: 'info',
  text: '',
  startsAt: null,
  endsAt: null,
  mail: false,
};

function Announce() {
  const write = useWrite(useOnce(announce), ['/operator/announcements', 'public status'], {
    done: ({ mails }) => {
      const told = mails > 0 ? ` ${formatCount(mails, 'owner')} get a mail.` : '';
      toastSuccess(`The announcement is shown.${told}`);
      if (resetSent()) moveFocusAfterWait();
    },
  });
  const { form, formProps, resetSent } = useWriteForm(write, { initialValues: empty });
  return (
    <Section title="Announce something">
      <Form
        {...formProps}
        action="Announce"
        maw={480}
        disabled={form.getValues().text.trim() === ''}
      >
        {form.isDirty() && <LeaveGuard lost="changes" />}
        <Textarea
          label="Text"
          description={`On one line, in up to ${announcementCharsMax} characters.`}
          maxLength={announcementCharsMax}
          autosize
          {...form.getInputProps('text')}
        />
        <Select
          label="Severity"
          allowDeselect={false}
          data={severities.map((value) => ({ value, label: severityLabels[value] }))}
          {...form.getInputProps('severity')}
        />
        <TimeField
          label="Takes place"
          description="If not now, such as for a maintenance that is planned."
          {...form.getInputProps('startsAt')}
        />
        <TimeField
          label="Shown until"
          description="If empty, until you end it."
          {...form.getInputProps('endsAt')}
        />
        <Checkbox
          label="Mail it to the owners of apps who want announcements"
          {...form.getInputProps('mail', { type: 'checkbox' })}
        />
      </Form>
    </Section>
  );
}

function Announced() {
  const mayChange = useMayChange();
  return (
    <Section title="Shown now">
      <Loaded query={useQuery(announcements())}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Text role="status">Nothing is announced.</Text>
          ) : (
            <EntryTable
              title="Announcements"
              entries={entries}
              columns={[
                'Text',
                'Severity',
                'Takes place',
                'Until',
                ...(mayChange ? ['Change'] : []),
              ]}
              row={(each) => ({
                key: each.id,
                cells: [
                  each.text,
                  severityLabels[each.severity],
                  each.startsAt && <Time key="from" at={each.startsAt} exact />,
                  each.endsAt ? <Time key="until" at={each.endsAt} exact /> : 'You end it',
                  mayChange && <End key="end" announcement={each} />,
                ],
              })}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

function End({ announcement: { id, text } }: { announcement: Announcement }) {
  const write = useWrite(() => endAnnouncement(id), ['/operator/announcements', 'public status'], {
    done: () => moveFocusAfterWait(),
  });
  return (
    <Confirm
      button={{ children: 'End', size: 'xs', 'aria-label': `End ${text}` }}
      title="End this announcement?"
      action="End"
      write={write}
    >
      <Text size="sm">{text}</Text>
      <Note>It is no longer shown, and mails that were not sent yet are not.</Note>
    </Confirm>
  );
}
