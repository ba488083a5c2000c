/** Responds to bytes that are not an HTTP request. Fastify has no reply for them, so this writes the response itself. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody } from '../../contract/envelope.ts';
import { invalid } from '../../errors.ts';
import { endGently } from './linger.ts';

type ClientError = Error & { code?: string };

type Options = {
  /** Whether a page on another origin may read the response. */
  crossOrigin: boolean;
  /** How long a request may take to arrive, in words. */
  arrivesWithin: string;
};

export function handleClientError(options: Options): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    // The client has hung up.
    const isGone = error.code === 'ECONNRESET' || !socket.writable;
    if (isGone || isResponding(socket)) {
      socket.destroy(error);
    } else {
      socket.write(render(error, options));
      endGently(socket);
    }
  };
}

/** As Node.js decides it (`lib/_http_server.js`, `socketOnError`); it has no public name. */
function isResponding(socket: Socket & { _httpMessage?: ServerResponse | null }): boolean {
  // oxlint-disable-next-line no-underscore-dangle -- as above
  return socket._httpMessage?.headersSent === true;
}

const crossOriginHeaders = [
  'Access-Control-Allow-Origin: *',
  'Access-Control-Expose-Headers: X-Request-Id, Cache-Control, Content-Length, Content-Type, Connection',
];

function render(clientError: ClientError, { crossOrigin, arrivesWithin }: Options): string {
  const error = invalid({ path: 'request', message: describe(clientError, arrivesWithin) });
  const body = JSON.stringify(errorBody(error.code, error.message, error.details));
  return [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    ...(crossOrigin ? crossOriginHeaders : []),
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

function describe({ code }: ClientError, arrivesWithin: string): string {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return `must arrive within ${arrivesWithin}`;
    case 'HPE_HEADER_OVERFLOW':
      return 'must have at most 16 KiB of headers';
    case 'HPE_INVALID_URL':
      return 'must have its address in percent-encoded UTF-8';
    case 'HPE_INVALID_EOF_STATE':
      return 'ended early';
    default:
      return 'must be HTTP/1.1';
  }
}
