import { notifications } from '@mantine/notifications';
import { describeError } from './describe-error.ts';

/** Shows a success message in the corner. Screen readers announce it. */
export function toastSuccess(message: string): void {
  notifications.show({ message, color: 'green.9', closeButtonProps: { 'aria-label': 'Close' } });
}

/** For errors that have no place on the page. */
export function toastError(error: unknown): void {
  const { title, message, requestId } = describeError(error);
  notifications.show({
    title,
    message: requestId ? `${message} (request ${requestId})` : message,
    color: 'red.9',
    autoClose: false,
    closeButtonProps: { 'aria-label': 'Close' },
  });
}
