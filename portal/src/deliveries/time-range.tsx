import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { recoverDaysMax } from '../../../service/src/contract/periods.ts';
import { describeError } from '../ui/describe-error.ts';
import { TimeField } from '../ui/time-field.tsx';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
// An hour less, because the service refuses more, and somebody may look at the dialog for a while or have a clock that is late.
const longestMs = recoverDaysMax * dayMs - hourMs;
const spans = [
  { label: 'The last hour', value: String(hourMs) },
  { label: 'The last 24 hours', value: String(dayMs) },
  { label: 'The last 7 days', value: String(7 * dayMs) },
  { label: `The last ${recoverDaysMax} days`, value: String(longestMs) },
];

export type TimeRange = ReturnType<typeof useTimeRange>;

/** The time range of a recovery or replay. At first, the shortest one that begins before the last success. */
export function useTimeRange(lastSuccessAt: string | null) {
  const [span, setSpan] = useState(() => spanSince(lastSuccessAt));
  const [from, setFrom] = useState<string | null>(() => timeAgo(dayMs));
  const [to, setTo] = useState<string | null>(null);
  const [spanStart, setSpanStart] = useState(() => timeAgo(Number(span)));
  const isCustom = span === 'own';
  const [isChosen, setIsChosen] = useState(false);
  return {
    span,
    from,
    to,
    isCustom,
    /** RFC 3339; empty if the field is empty. */
    since: isCustom ? (from ?? '') : spanStart,
    /** RFC 3339; null for now. */
    until: isCustom ? to : null,
    /** Whether somebody has chosen anything of it. */
    isChosen,
    setFrom: (at: string | null) => {
      setIsChosen(true);
      setFrom(at);
    },
    setTo: (at: string | null) => {
      setIsChosen(true);
      setTo(at);
    },
    chooseSpan(chosen: string) {
      setIsChosen(true);
      setSpan(chosen);
      if (chosen !== 'own') setSpanStart(timeAgo(Number(chosen)));
    },
  };
}

/** Returns the message for the field “Since”; null if the error is about something else or the field is hidden. */
export function faultOf({ isCustom }: TimeRange, error: unknown): string | null {
  return isCustom && error ? (describeError(error).fields['since'] ?? null) : null;
}

type Props = {
  range: TimeRange;
  fault: string | null;
  /** True if the range can end before now. */
  hasEnd?: boolean;
};

export function TimeRangeFields({ range, fault, hasEnd = false }: Props) {
  const own = { label: hasEnd ? 'A custom range' : 'Since a custom time', value: 'own' };
  return (
    <>
      <NativeSelect
        label="Time range"
        data={[...spans, own]}
        value={range.span}
        onChange={({ currentTarget }) => range.chooseSpan(currentTarget.value)}
        data-autofocus
      />
      {range.isCustom && (
        <TimeField
          label="Since"
          description={`At most ${recoverDaysMax} days ago.`}
          value={range.from}
          error={fault}
          required
          withAsterisk={false}
          onChange={range.setFrom}
        />
      )}
      {range.isCustom && hasEnd && (
        <TimeField
          label="Until"
          description="Leave empty for now."
          value={range.to}
          onChange={range.setTo}
        />
      )}
    </>
  );
}

/** The shortest range that begins before the last success, because everything failed after it. */
function spanSince(lastSuccessAt: string | null): string {
  const ms = lastSuccessAt === null ? longestMs : Date.now() - Date.parse(lastSuccessAt);
  return spans.find(({ value }) => Number(value) >= ms)?.value ?? String(longestMs);
}

function timeAgo(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
