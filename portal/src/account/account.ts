/** One's own account: what better-auth reads and writes of it below /portal/api/auth. */
import { queryOptions } from '@tanstack/react-query';
import { call } from '../api/call.ts';
import { auth } from '../sign-in/authenticate.ts';

/** A way to sign in. */
export type Method = {
  id: string;
  /** `credential`: the password. */
  providerId: string;
  createdAt: string;
};
export type Session = {
  id: string;
  /** What it is ended by; it opens nothing. */
  token: string;
  ipAddress: string | null;
  userAgent: string | null;
  createdAt: string;
};

export const methodsPath = '/auth/list-accounts';
export const sessionsPath = '/auth/list-sessions';

export const methods = () => list<Method>(methodsPath);
export const sessions = () => list<Session>(sessionsPath);

export const rename = (name: string) => auth('/update-user', { name });

/** Ends all other sessions: whoever knew the old password may be in one. */
export const changePassword = (currentPassword: string, newPassword: string) =>
  auth('/change-password', { currentPassword, newPassword, revokeOtherSessions: true });

export const unlink = ({ id }: Method) => auth('/unlink-account', { accountId: id });

export const endSession = ({ token }: Session) => auth('/revoke-session', { token });
export const endOtherSessions = () => auth('/revoke-other-sessions');

function list<Entry>(path: string) {
  return queryOptions({
    queryKey: [path, {}] as const,
    queryFn: ({ signal }) => call<Entry[]>({ path, signal }),
  });
}
