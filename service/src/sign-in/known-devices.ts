/**
 * Recognises a browser that has signed in to an account before, by a cookie. While somebody else guesses at the
 * account's password, sign-ins are slowed down, but not those from a known device (OWASP, "Device Cookies").
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

export type KnownDevices = ReturnType<typeof createKnownDevices>;

const validSeconds = 180 * 86_400;

export function createKnownDevices(secret: string, secure: boolean) {
  const name = `${secure ? '__Host-' : ''}orgdir.device`;
  const pattern = new RegExp(
    `(?:^|;\\s*)${name.replaceAll('.', '\\.')}=([\\w-]{36})\\.(\\d{1,12})\\.([\\w-]{43})`,
  );

  function sign(id: string, until: string, email: string): string {
    return createHmac('sha256', secret)
      .update(`device ${id} ${until} ${email}`)
      .digest('base64url');
  }

  return {
    /** The device's id if these cookies are of one that has signed in with this address; else null. */
    recognise(cookie: string | null, email: string): string | null {
      const [, id, until, signature] = pattern.exec(cookie ?? '') ?? [];
      if (!id || !until || !signature || Number(until) * 1000 < Date.now()) return null;
      const expected = Buffer.from(sign(id, until, email));
      return timingSafeEqual(expected, Buffer.from(signature)) ? id : null;
    },
    /** The `Set-Cookie` for a browser that has just signed in. */
    remember(email: string): string {
      const id = randomUUID();
      const until = String(Math.floor(Date.now() / 1000) + validSeconds);
      const attributes = `Path=/; Max-Age=${validSeconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
      return `${name}=${id}.${until}.${sign(id, until, email)}; ${attributes}`;
    },
  };
}
