import { Checkbox } from '@mantine/core';
import { updateMembership } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';

/** Saves at once. The box shows the choice while the request runs. */
export function FailureMails({ app }: { app: PortalApp }) {
  const write = useWrite(
    (failureMails: boolean) => updateMembership(app.id, { failureMails }),
    [`/apps/${app.id}`],
    {
      done: ({ failureMails }) =>
        toastSuccess(`You ${failureMails ? 'get' : 'no longer get'} failure mails of this app.`),
    },
  );
  return (
    <Section
      title="Failure mails"
      lead="Owners and developers can get them. This is your own choice."
    >
      <Checkbox
        label="Mail me when a webhook of this app starts to fail or is deactivated"
        checked={write.isPending ? write.variables : app.failureMails}
        onChange={({ currentTarget }) => {
          if (!write.isPending) write.mutate(currentTarget.checked);
        }}
      />
      {write.isError && <Problem error={write.error} />}
    </Section>
  );
}
