import type { PasswordHashing } from '../../src/sign-in/hash-password.ts';

/** In the place of scrypt, for tests that set thousands of passwords. */
export const cheapHashing: PasswordHashing = {
  hash: async (password) => `cheap ${password}`,
  verify: async ({ hash, password }) => hash === `cheap ${password}`,
};
