/** Hashes passwords, as many at a time as there are cores: each takes some 60 ms of one and 32 MB. */
import { availableParallelism } from 'node:os';
import { hashPassword, verifyPassword } from 'better-auth/crypto';
import pLimit from 'p-limit';

export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (given: { hash: string; password: string }) => Promise<boolean>;
};

export function createPasswordHashing(): PasswordHashing {
  const limit = pLimit(availableParallelism());
  return {
    hash: (password) => limit(() => hashPassword(password)),
    verify: (given) => limit(() => verifyPassword(given)),
  };
}
