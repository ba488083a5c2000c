import type { PasswordHashing } from '../../src/sign-in/auth.ts';

/** Instead of scrypt, for tests that are not about passwords. */
export const cheapHashing: PasswordHashing = {
  hash: async (password) => `cheap ${password}`,
  verify: async ({ hash, password }) => hash === `cheap ${password}`,
};
