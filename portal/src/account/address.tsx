import { Alert, Text } from '@mantine/core';
import { requestAddressChange } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { pageData } from '../page-data.ts';
import { describeSentLink } from '../sign-in/describe-sent-link.ts';
import { AddressField, validateAddress } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';

/** The address of the account, and a form that requests another one. */
export function Address({ email }: { email: string }) {
  // The service generates such an address if the provider confirms none.
  const isName = email.endsWith('.invalid');
  return (
    <Section title={isName ? 'Your name at the provider' : 'Email address'}>
      <Text fw={600}>{email}</Text>
      <Note maw="70ch">
        {isName
          ? 'The provider that you sign in with confirms no email address, so this name identifies you. Your apps belong to it, and an organisation can make it a manager.'
          : 'You sign in with this address. Your apps belong to it, and so do your manager roles in organisations and alliances.'}
      </Note>
      {pageData.signInOptions.password.links === null ? (
        <Note>This service sends no mail, so you can't change the address here.</Note>
      ) : (
        <RequestChange />
      )}
    </Section>
  );
}

function RequestChange() {
  const write = useWrite(
    ({ email }: { email: string }) => requestAddressChange(email.trim()),
    ['/account/activity'],
  );
  const { form, formProps } = useWriteForm(write, {
    initialValues: { email: '' },
    validate: { email: validateAddress },
  });
  const sent = describeSentLink(write.variables?.email.trim() ?? '');
  return (
    <>
      <Form {...formProps} action="Send link" maw={400}>
        <AddressField
          label="New email address"
          description="We send it a link that confirms it. Until you use the link, nothing changes."
          autoComplete="email"
          {...form.getInputProps('email')}
        />
      </Form>
      <div role="status">
        {write.isSuccess && (
          <Alert color="green" title={sent.title}>
            <Text size="sm">{sent.message} Open it in a browser that is signed in here.</Text>
          </Alert>
        )}
      </div>
    </>
  );
}
