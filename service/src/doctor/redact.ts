/** Takes secrets of the environment out of a text, wherever they got into it. */

const whole = ['SECRET_KEY', 'CHAT_TOKEN'];
const withPassword = ['DATABASE_URL', 'SMTP_URL', 'SYNC_BLUEPRINTS_URL'];
/** What is shorter stands in too many words, and protects nothing. */
const secretLengthMin = 3;

export function createRedaction(
  env: Readonly<Record<string, string | undefined>>,
): (text: string) => string {
  const secrets = [
    ...whole.flatMap((name) => (env[name] ?? '').split(',').map((part) => part.trim())),
    ...withPassword.flatMap((name) => passwordsOf(env[name] ?? '')),
  ]
    .filter((secret) => secret.length >= secretLengthMin)
    .sort((one, other) => other.length - one.length);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/** As written and as meant; of what is no address, all between `:` and the last `@`. */
function passwordsOf(address: string): string[] {
  const url = URL.parse(address);
  const written = url
    ? [url.password, url.searchParams.get('password') ?? '']
    : [/:([^@]*)@/.exec(address.replace(/^[a-z]+:\/\//i, ''))?.[1] ?? ''];
  return written.flatMap((password) => [password, decode(password)]);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
