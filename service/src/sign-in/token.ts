import { hash, randomBytes } from 'node:crypto';

/** 256 random bits, in characters that need no escaping in an address. */
export function createToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The SHA-256 that is stored in the token's place. */
export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
