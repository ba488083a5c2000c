/** The record of a request, and the messages between the tests and the receivers' process. */
export type Received = {
  deliveryId: string;
  webhookPath: string;
  at: number;
  /** The IP address of the sender. */
  from: string;
  /** SHA-256 of the body, in hex. */
  digest: string;
  /** The body, for debugging. */
  body: string;
  /** Whether both signatures verify. */
  signed: boolean;
  /** The status of the response; null if there was none. */
  status: number | null;
};

export function isProbe({ body }: Received): boolean {
  return (JSON.parse(body) as { event: string }).event === 'webhook.probe';
}

export type ToReceivers =
  | { kind: 'secrets'; byPath: Record<string, string> }
  /** From now on every receiver responds with 200 at once. */
  | { kind: 'heal' }
  /** From now on those whose paths begin like this never respond, until all are healed. */
  | { kind: 'hang'; path: string }
  | { kind: 'notify'; count: number }
  | { kind: 'report' };
export type FromReceivers =
  | { kind: 'listening'; ports: number[] }
  | { kind: 'reached'; count: number; total: number }
  | { kind: 'report'; received: Received[] };
