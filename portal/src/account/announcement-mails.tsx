import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { accountPreferences, updateAccountPreferences } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';

/** Saves at once. The box shows the choice while the request runs. */
export function AnnouncementMails() {
  const query = useQuery(accountPreferences());
  const write = useWrite(
    (announcementMails: boolean) => updateAccountPreferences({ announcementMails }),
    ['/account/preferences'],
    {
      done: ({ announcementMails }) =>
        toastSuccess(`You ${announcementMails ? 'get' : 'no longer get'} announcements by mail.`),
    },
  );
  return (
    <Section
      title="Announcements"
      lead="The operator announces maintenance and changes here, on the status page, and by mail to owners of apps."
    >
      <Loaded query={query}>
        {({ announcementMails }) => (
          <Checkbox
            label="Mail me announcements while I own an app"
            checked={write.isPending ? write.variables : announcementMails}
            onChange={({ currentTarget }) => {
              if (!write.isPending) write.mutate(currentTarget.checked);
            }}
          />
        )}
      </Loaded>
      {write.isError && <Problem error={write.error} />}
    </Section>
  );
}
