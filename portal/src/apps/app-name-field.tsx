import { TextInput } from '@mantine/core';
import { describeError } from '../ui/describe-error.ts';
import { Problem } from '../ui/problem.tsx';

/** As the service's. */
const lengthMax = 100;

/** The name of an app, with what the service said of it beside it, or below where it is about something else. */
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
