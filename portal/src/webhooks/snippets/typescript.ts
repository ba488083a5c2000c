import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = process.env['WEBHOOK_SECRET'] ?? ''; // whsec_…
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
if (key.length !== 32)
  throw new Error('WEBHOOK_SECRET must be the secret as it was shown: whsec_…');
const port = Number(process.env['PORT'] ?? 8080);
const toleranceSeconds = 300;
const bodyBytesMax = 1024 * 1024;

createServer((request, response) => {
  const answer = (status: number) => response.writeHead(status, { connection: 'close' }).end();
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  });
  request.on('end', () => {
    if (bytes > bodyBytesMax) return answer(413);
    // The signature is over the bytes as they arrived, so verify before parsing.
    const body = Buffer.concat(chunks);
    if (!isGenuine(request.headers, body)) return answer(401);
    const { id, event, data } = JSON.parse(body.toString());
    // Store it and respond; do the work afterwards. A delivery that arrives again has the same id.
    console.log(id, event, data);
    return answer(204);
  });
}).listen(port, '127.0.0.1');

function isGenuine(headers: NodeJS.Dict<string | string[]>, body: Buffer): boolean {
  const id = String(headers['webhook-id']);
  const time = String(headers['webhook-timestamp']);
  if (!/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(Date.now() / 1000 - Number(time)) > toleranceSeconds) return false;
  const digest = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64');
  const expected = Buffer.from(`v1,${digest}`);
  // During a rotation there are two signatures, separated by a space.
  return String(headers['webhook-signature'])
    .split(' ')
    .map((each) => Buffer.from(each))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
