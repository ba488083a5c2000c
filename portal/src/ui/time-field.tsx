import { TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTimes } from './times.tsx';

type Props = Omit<
  TextInputProps,
  'type' | 'value' | 'onChange' | 'defaultValue' | 'description'
> & {
  /** A sentence, which the zone follows. */
  description?: string;
  /** RFC 3339; null if the field is empty. */
  value?: string | null;
  onChange: (value: string | null) => void;
};

/** A date and time to the minute. It stays the same time when the zone in which times are shown changes. */
export function TimeField({ value = null, onChange, description, error, ...input }: Props) {
  const times = useTimes();
  // What somebody types stays as it is: the first digit of a year is a time, too.
  const [typed, setTyped] = useState({ text: times.toInput(value), value, times });
  const isTyped = typed.value === value && typed.times === times;
  const isUnread = isTyped && typed.text !== '' && typed.value === null;
  const zone = `In ${times.zoneAt(value ?? new Date().toISOString())}.`;
  return (
    <TextInput
      {...input}
      type="datetime-local"
      max="9999-12-31T23:59"
      error={isUnread ? 'Choose a year of four digits.' : error}
      description={description === undefined ? zone : `${description} ${zone}`}
      value={isTyped ? typed.text : times.toInput(value)}
      onChange={({ currentTarget: { value: text } }) => {
        const chosen = times.fromInput(text);
        setTyped({ text, value: chosen, times });
        onChange(chosen);
      }}
    />
  );
}
