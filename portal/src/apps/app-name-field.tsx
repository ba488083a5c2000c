import { TextInput } from '@mantine/core';
import { describeError } from '../ui/describe-error.ts';
import { Problem } from '../ui/problem.tsx';

/** The limit of the service. */
const lengthMax = 100;

/** The name field, with errors about the name at the field and other errors below. */
export function AppNameField({
  name,
  setName,
  error,
  description,
  autoFocus = false,
}: {
  name: string;
  setName: (name: string) => void;
  error: unknown;
  description: string;
  autoFocus?: boolean;
}) {
  const refused = error ? describeError(error).fields['name'] : undefined;
  return (
    <>
      <TextInput
        label="Name"
        description={description}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={lengthMax}
        pattern=".*\S.*"
        title="Enter at least one character that is not a space"
        error={refused}
        autoComplete="off"
        required
        data-autofocus={autoFocus || undefined}
      />
      {error && refused === undefined ? <Problem error={error} /> : null}
    </>
  );
}
