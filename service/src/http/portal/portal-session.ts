import type { SignedIn } from '../../sign-in/sign-in.ts';

/** The session as the pages get it. */
export function toPortalSession({
  sessionId: id,
  userId,
  expiresAt,
  signedInAt: _signedInAt,
  ...user
}: SignedIn) {
  return { id, user: { id: userId, ...user }, expiresAt };
}
