import { Title } from '@mantine/core';
import { createInvitation } from '../api/operations.ts';
import type { NewInvitation } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { AddressField, validateAddress } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';
import { describeSentInvitation } from './describe-sent-invitation.ts';
import { RoleChoice } from './role-choice.tsx';

/** Stays open after an invitation, empty and ready for the next one. */
export function InviteForm({ appId }: { appId: string }) {
  const write = useWrite(
    ({ email, role }: NewInvitation) => createInvitation(appId, { email: email.trim(), role }),
    appChanges,
    {
      done: ({ email }) => {
        toastSuccess(describeSentInvitation(email));
        if (resetSent()) moveFocusAfterWait(form.getInputNode('email'));
      },
    },
  );
  const { form, formProps, resetSent } = useWriteForm(write, {
    initialValues: { email: '', role: 'viewer' },
    validate: { email: validateAddress },
  });
  return (
    <>
      <Title order={3} size="h5">
        Invite somebody
      </Title>
      <Form {...formProps} action="Send invitation" maw="30rem">
        <AddressField autoComplete="off" required {...form.getInputProps('email')} />
        <RoleChoice {...form.getInputProps('role')} />
      </Form>
    </>
  );
}
