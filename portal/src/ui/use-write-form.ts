import { useForm, type UseFormInput } from '@mantine/form';
import type { UseMutationResult } from '@tanstack/react-query';
import { useRef } from 'react';
import { useUnsaved } from '../session/unsaved.ts';
import { awaitFocus, isFocusTaken } from './move-focus.ts';
import { describeError } from './describe-error.ts';

/**
 * A form that sends its values. Errors of the service appear at the fields that they name, others above the buttons, and
 * the first invalid field takes the focus, unless somebody has moved it meanwhile. `formProps` are for `Form`. `resetSent` empties the form for the next time, unless
 * it has other values by now than those that were sent; it returns whether it did. What was typed outlasts the session until it
 * is sent.
 */
export function useWriteForm<Sent extends object, Values extends object = Sent>(
  write: UseMutationResult<unknown, Error, Sent>,
  options: UseFormInput<NoInfer<Values>, Sent>,
) {
  const form = useForm<Values, Sent>(options);
  const errorsOf = (error: Error | null) => fieldErrors(error, Object.keys(form.getValues()));
  const focusFirst = (errors: object) =>
    Object.keys(errors)
      .map((field) => focusableIn(form.getInputNode(field)))
      .find((node) => node !== null)
      ?.focus();
  const refuse = (error: Error) => {
    const errors = errorsOf(error);
    form.setErrors(errors);
    if (!isFocusTaken()) focusFirst(errors);
  };
  const sent = useRef<Values | null>(null);
  const submit = form.onSubmit((values) => {
    sent.current = form.getValues();
    awaitFocus();
    write.mutate(values, { onError: refuse });
  }, focusFirst);
  const resetSent = (): boolean => {
    if (form.getValues() !== sent.current) return false;
    form.reset();
    return true;
  };
  const isSent = write.isSuccess && form.getValues() === sent.current;
  useUnsaved(form.isDirty() && !isSent);
  const isAtField = Object.keys(errorsOf(write.error)).length > 0;
  const error = isAtField ? null : write.error;
  return {
    form,
    resetSent,
    formProps: { submit, write: { isPending: write.isPending, error }, noValidate: true },
  };
}

const labels: Record<string, string> = { url: 'URL', expiresAt: 'last day' };

/**
 * Messages by field. The service completes the name of a field, but writes whole sentences for the entries of a list. Of what
 * is deeper in a field, the message begins with where it is.
 */
function fieldErrors(error: Error | null, fields: string[]): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const [path, message] of Object.entries(error ? describeError(error).fields : {})) {
    const [field = '', ...within] = path.split('.');
    const label = labels[field] ?? field.replaceAll(/([A-Z])/g, ' $1').toLowerCase();
    const start = within.length > 1 ? `${within.join('.')} ` : '';
    const text = `${within.length === 0 ? `The ${label} ` : start}${message}`;
    const sentence = text.endsWith('?') ? text : `${text}.`;
    if (fields.includes(field))
      errors[field] = errors[field] === undefined ? sentence : `${errors[field]} ${sentence}`;
  }
  return errors;
}

/** A group of checkboxes has its first one. A fold opens, because what is in a closed one takes no focus. */
function focusableIn(node: HTMLElement | null): HTMLElement | null {
  node?.closest('details')?.setAttribute('open', '');
  return node?.matches('input, textarea') ? node : (node?.querySelector('input') ?? null);
}
