import {
  Button,
  Fieldset,
  Group,
  Input,
  Stack,
  Text,
  TextInput,
  VisuallyHidden,
  type ButtonProps,
} from '@mantine/core';
import { useId, useRef, type ReactNode } from 'react';
import { moveFocus } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';

export type HeaderRow = { key: string; name: string; value: string };
/** Null until they are changed. */
export type HeaderRows = HeaderRow[] | null;

/** The limits of the service. */
const headersMax = 10;

type Props = {
  /** The stored ones, whose values nobody can read. */
  names: string[];
  /** Whether the URL in the form is on another server than the stored one. */
  moves: boolean;
  value?: HeaderRows;
  onChange: (rows: HeaderRows) => void;
  error?: ReactNode;
  'data-path'?: string;
};

/** The headers that are added to deliveries: the stored ones stay, or all of them are entered again. */
export function HeaderFields({ names, moves, value = null, onChange, error, ...rest }: Props) {
  const group = useRef<HTMLFieldSetElement>(null);
  const errorId = useId();
  const change = (rows: HeaderRows) => {
    onChange(rows);
    // The button that was pressed disappears.
    moveFocus(group.current);
  };
  const choice = { names, onChange, change };
  const described = error && { 'aria-describedby': errorId };
  return (
    <Fieldset ref={group} tabIndex={-1} legend="Headers" {...rest} {...described}>
      <Stack gap="sm">
        <Note>
          Sent with each delivery, such as the credentials that your gateway wants. Values are
          encrypted, and not shown again.
        </Note>
        {value === null && names.length > 0 ? (
          <Stored {...choice} moves={moves} />
        ) : (
          <Entered {...choice} rows={value ?? []} />
        )}
        {error && (
          <Input.Error id={errorId} role="alert">
            {error}
          </Input.Error>
        )}
      </Stack>
    </Fieldset>
  );
}

type Choice = { names: string[]; onChange: Props['onChange']; change: Props['onChange'] };

function Stored({ names, moves, change }: Choice & { moves: boolean }) {
  return (
    <>
      <Text size="sm">{names.join(', ')} (values hidden)</Text>
      <Text size="sm" role="status" c="var(--mantine-color-error)">
        {moves &&
          'The new URL is on another server, so these headers will be removed. Replace them to send some there.'}
      </Text>
      <Group gap="xs">
        <Small onClick={() => change(names.map((name) => ({ key: name, name, value: '' })))}>
          Replace the headers
        </Small>
        <Small onClick={() => change([])}>Remove the headers</Small>
      </Group>
    </>
  );
}

function Entered({ names, rows, onChange, change }: Choice & { rows: HeaderRow[] }) {
  const added = useRef(0);
  const add = () => {
    added.current += 1;
    onChange([...rows, { key: `added ${added.current}`, name: '', value: '' }]);
  };
  const isStored = names.length > 0;
  return (
    <>
      {rows.map((row, index) => (
        <Group key={row.key} gap="xs" align="flex-end">
          {(['name', 'value'] as const).map((part) => (
            <TextInput
              key={part}
              label={`${part === 'name' ? 'Name' : 'Value'} of header ${index + 1}`}
              autoComplete="off"
              spellCheck={false}
              // An empty row appears because a button was pressed.
              autoFocus={part === 'name' && row.name === ''}
              flex={`1 1 ${part === 'name' ? 160 : 240}px`}
              value={row[part]}
              onChange={({ currentTarget }) =>
                onChange(rows.with(index, { ...row, [part]: currentTarget.value }))
              }
            />
          ))}
          <Button variant="default" onClick={() => change(rows.toSpliced(index, 1))}>
            Remove<VisuallyHidden> header {index + 1}</VisuallyHidden>
          </Button>
        </Group>
      ))}
      {isStored && rows.length === 0 && <Text size="sm">Saving removes the headers.</Text>}
      <Group gap="xs">
        {rows.length < headersMax && <Small onClick={add}>Add a header</Small>}
        {isStored && <Small onClick={() => change(null)}>Keep the stored headers</Small>}
      </Group>
    </>
  );
}

function Small(props: ButtonProps & { onClick: () => void; children: ReactNode }) {
  return <Button size="xs" variant="default" {...props} />;
}

/** What an object of names could not hold. The service checks the rest. */
export function checkHeaders(rows: HeaderRows): string | null {
  const names = rows?.map(({ name }) => name.trim().toLowerCase()) ?? [];
  if (rows?.some(({ name, value }) => name.trim() === '' || value.trim() === ''))
    return 'Enter a name and a value for each header, or remove it.';
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? null : `The header ${twice} is there twice.`;
}

/** As the service takes them, without the spaces that come with pasted text. */
export function toHeaders(rows: HeaderRow[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, value }) => [name.trim(), value.trim()]));
}
