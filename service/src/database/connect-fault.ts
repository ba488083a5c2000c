/** Why a server cannot be used, in words: what Node.js and `pg` say of certificates and passwords does not say what to do. */

export type ConnectFault = { code: string | null; reason: string };

const untrusted =
  'no authority that this machine trusts has signed its certificate; name the file of the one that has with sslrootcert in the address';
const inWords: Record<string, string> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it on the server',
};

export function describeConnectFault(error: unknown): ConnectFault {
  // If all addresses of a host refuse, Node.js throws one error without a message.
  const first = (error instanceof AggregateError ? error.errors[0] : error) as {
    code?: string;
    message: string;
  };
  const code = first.code ?? null;
  const message = first.message.split('\n')[0] ?? '';
  const reason = /client password must be a (non-empty )?string/.test(message)
    ? 'it asks for a password, and the address has none'
    : message;
  return { code, reason: inWords[code ?? ''] ?? reason };
}
