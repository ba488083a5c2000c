import type { SignedIn } from '../../sign-in/sign-in.ts';

/** Who is signed in, as the pages are told. */
export function toPortalSession({ sessionId: id, userId, expiresAt, ...user }: SignedIn) {
  return { id, user: { id: userId, ...user }, expiresAt };
}
