import { TextInput } from '@mantine/core';
import { useState, type ComponentProps } from 'react';
import { reasonCharsMax } from '../../../service/src/contract/console.ts';
import { useUnsaved } from '../session/unsaved.ts';
import { Form, type Write } from '../ui/form.tsx';

type Props = Omit<ComponentProps<typeof Form>, 'submit' | 'write'> & {
  /** Sends the reason. */
  write: Write & { mutate: (reason: string) => void };
  /** Who reads the reason. */
  description?: string;
};

/** Asks for the reason of what it sends, in a dialog. */
export function ReasonForm({ write, description, children, ...buttons }: Props) {
  const [reason, setReason] = useState('');
  useUnsaved(reason !== '');
  return (
    <Form
      layout="dialog"
      write={write}
      {...buttons}
      disabled={reason.trim() === ''}
      submit={() => write.mutate(reason.trim())}
    >
      {children}
      <TextInput
        label="Reason"
        description={description}
        maxLength={reasonCharsMax}
        value={reason}
        onChange={({ currentTarget: { value } }) => setReason(value)}
        data-autofocus
      />
    </Form>
  );
}
