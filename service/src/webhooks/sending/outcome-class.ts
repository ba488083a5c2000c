import { isSuccess } from '../../contract/delivery-rules.ts';
import type { OutcomeClass } from '../../runtime/metrics.ts';
import type { AttemptResult } from './retry.ts';

/** The class in which metrics count an attempt. A status that is not a valid final status counts as a reset. */
export function outcomeClass(result: Pick<AttemptResult, 'statusCode' | 'error'>): OutcomeClass {
  if (result.error !== null) return result.error;
  if (isSuccess(result)) return 'succeeded';
  switch (Math.floor((result.statusCode ?? 0) / 100)) {
    case 3:
      return '3xx';
    case 4:
      return '4xx';
    case 5:
      return '5xx';
    default:
      return 'reset';
  }
}
