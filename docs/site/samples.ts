/** Writes one request in several languages. docs/test/samples.test.ts runs them all. */
import type { SampleRequest } from './page.ts';

type Sample = { title: string; language: string; code: string };

/** The client's method for each operation. */
const methods: Record<string, string> = {
  getStatus: 'status',
  suggest: 'suggest',
  getOpenApi: 'openApi',
  listOrgs: 'orgs.list',
  getOrg: 'orgs.get',
  listAlliances: 'alliances.list',
  getAlliance: 'alliances.get',
  listBlueprints: 'blueprints.list',
  getBlueprint: 'blueprints.get',
  downloadOrgs: 'orgs.download',
  downloadAlliances: 'alliances.download',
  downloadBlueprints: 'blueprints.download',
  listEvents: 'events.list',
  streamEvents: 'events.follow',
  listWebhooks: 'webhooks.list',
  createWebhook: 'webhooks.create',
  getWebhook: 'webhooks.get',
  updateWebhook: 'webhooks.update',
  deleteWebhook: 'webhooks.delete',
  testWebhook: 'webhooks.test',
  rotateWebhookSecret: 'webhooks.rotateSecret',
  listDeliveries: 'webhooks.deliveries.list',
  getDelivery: 'webhooks.deliveries.get',
  redeliver: 'webhooks.deliveries.redeliver',
  recoverDeliveries: 'webhooks.recover',
  replayDeliveries: 'webhooks.replay',
  explainEvent: 'webhooks.explain',
  explainTime: 'webhooks.explainTime',
};

export function samplesOf(request: SampleRequest): Sample[] {
  return [
    { title: 'curl', language: 'sh', code: curl(request) },
    { title: 'TypeScript', language: 'ts', code: typescript(request) },
    { title: 'Python', language: 'python', code: python(request) },
    { title: 'Go', language: 'go', code: go(request) },
  ];
}

function addressOf({ path, parameters }: SampleRequest): string {
  const filled = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => parameters.find((parameter) => parameter.name === name)?.example ?? '',
  );
  const query = requiredQuery(parameters).map(
    ({ name, example }) => `${name}=${encodeURIComponent(example)}`,
  );
  return `{{url}}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

function requiredQuery(parameters: SampleRequest['parameters']) {
  return parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
}

function curl(request: SampleRequest): string {
  const { operationId, method, scope, body } = request;
  return [
    `curl${isStream(operationId) ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`} "${addressOf(request)}"`,
    ...(scope ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`] : []),
  ].join(' \\\n  ');
}

function typescript({ operationId, parameters, body, scope }: SampleRequest): string {
  const method = methods[operationId];
  if (!method) throw new Error(`the client's method for ${operationId} is unknown`);
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const query = requiredQuery(parameters);
  const given = [
    ...inPath.map(({ example }) => `'${example}'`),
    // A single one is an argument of its own.
    ...(query.length === 1 ? query.map(({ example }) => `'${example}'`) : []),
    ...(query.length > 1
      ? [toLiteral(Object.fromEntries(query.map(({ name, example }) => [name, example])))]
      : []),
    ...(body ? [toLiteral(body)] : []),
  ];
  return [
    "import { createClient } from '@orgdir/client';",
    '',
    scope
      ? "const client = createClient({ baseUrl: '{{url}}', apiKey: process.env['KEY'] });"
      : "const client = createClient({ baseUrl: '{{url}}' });",
    ...(isDownload(operationId)
      ? [
          `const { batches } = await client.${method}();`,
          'for await (const entries of batches) console.log(entries);',
        ]
      : isStream(operationId)
        ? [
            `for await (const { data, pagination } of client.${method}())`,
            '  console.log(data, pagination.nextCursor);',
          ]
        : [`const result = await client.${method}(${given.join(', ')});`, 'console.log(result);']),
  ].join('\n');
}

/** Its response has a JSON object per line. */
function isDownload(operationId: string): boolean {
  return operationId.startsWith('download');
}

/** It does not end. */
function isStream(operationId: string): boolean {
  return operationId.startsWith('stream');
}

function toLiteral(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/"(\w+)":/g, '$1:')
    .replaceAll('"', "'");
}

function pythonPrint(operationId: string): string[] {
  if (isDownload(operationId))
    return ['    for line in response:', '        print(json.loads(line))'];
  if (isStream(operationId))
    return ['    for line in response:', '        print(line.decode(), end="", flush=True)'];
  return ['    print(json.load(response))'];
}

function python(request: SampleRequest): string {
  const { operationId, method, body, scope } = request;
  const headers = [
    ...(scope ? [`"Authorization": f"Bearer {os.environ['KEY']}"`] : []),
    ...(body ? ['"Content-Type": "application/json"'] : []),
  ];
  return [
    ...(isStream(operationId) ? [] : ['import json']),
    ...(scope ? ['import os'] : []),
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    "${addressOf(request)}",`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(headers.length > 0 ? [`    headers={${headers.join(', ')}},`] : []),
    ...(body ? [`    data=json.dumps(${toPython(body)}).encode(),`] : []),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...pythonPrint(operationId),
  ].join('\n');
}

function toPython(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('":', '": ')
    .replaceAll(',"', ', "')
    .replace(/\b(true|false|null)\b(?=[,}\]])/g, (word) => pythonWords[word] ?? word);
}

const pythonWords: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

function go(request: SampleRequest): string {
  const { operationId, method, body, scope } = request;
  const streams = isStream(operationId);
  const imports = [
    ...(streams ? [] : ['fmt']),
    'io',
    'log',
    'net/http',
    ...(scope || streams ? ['os'] : []),
    ...(body ? ['strings'] : []),
  ];
  return `package main

import (
${imports.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
	request, err := http.NewRequest("${method}", "${addressOf(request)}", ${body ? `strings.NewReader(\`${JSON.stringify(body)}\`)` : 'nil'})
	if err != nil {
		log.Fatal(err)
	}
${scope ? '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))\n' : ''}${body ? '\trequest.Header.Set("Content-Type", "application/json")\n' : ''}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
${
  streams
    ? '\tif _, err := io.Copy(os.Stdout, response.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}'
    : '\ttext, err := io.ReadAll(response.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(response.Status, string(text))'
}
}`;
}
