import { passwordLengthMax, passwordLengthMin } from '../../contract/password-length.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';

/** The ways to sign in that this service offers. */
export function signInOptionsOf({ links, providers }: SignIn) {
  return {
    password: {
      signUp: links !== null,
      links,
      lengthMin: passwordLengthMin,
      lengthMax: passwordLengthMax,
    },
    providers,
  };
}
