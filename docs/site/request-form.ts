/** The form on the page of an operation that sends its request. Without a script it stays hidden. */
import { escapeHtml } from './highlight.ts';
import type { Parameter, SampleRequest } from './page.ts';

export function renderRequestForm(request: SampleRequest): string {
  const { method, path, parameters, body, scope } = request;
  const usable = parameters.filter((parameter) => parameter.in !== 'header');
  const required = usable.filter((parameter) => parameter.required);
  const optional = usable.filter((parameter) => !parameter.required);
  return [
    `<form class="request" data-method="${method}" data-path="{{base}}${path}" hidden>`,
    '<h2 id="send-request">Send a request</h2>',
    scope === null ? '' : keyField(scope),
    ...required.map((parameter) => field(parameter)),
    ...(optional.length > 0
      ? [
          `<details><summary>Optional parameters (${optional.length})</summary>`,
          ...optional.map((parameter) => field(parameter)),
          '</details>',
        ]
      : []),
    body
      ? `<label>Body<textarea name="body" rows="8" spellcheck="false">${escapeHtml(JSON.stringify(body, null, 2))}</textarea></label>`
      : '',
    '<button type="submit">Send request</button>',
    '<p role="status"></p>',
    '<pre tabindex="0" aria-label="Response" hidden></pre>',
    '</form>',
  ].join('\n');
}

function keyField(scope: string): string {
  const temporary =
    scope === 'read:directory'
      ? '<button type="button" data-temporary-key="{{base}}/portal/api">Get a temporary key</button>'
      : '';
  const kept = temporary && ' A temporary key stays in this tab until it expires.';
  return `<label>API key<input name="key" type="password" autocomplete="off" required placeholder="odk_…"></label>
<p class="soft">Needs the scope <code>${scope}</code>. <a href="{{base}}/profile/developer">Create a key</a> in the developer portal. The page does not store keys that you enter.${kept}</p>${temporary}`;
}

function field({ name, in: place, required, schema, example }: Parameter): string {
  const attributes = `name="${name}" data-in="${place}"`;
  const values = schema.type === 'boolean' ? ['true', 'false'] : schema.enum;
  const control = values
    ? `<select ${attributes}><option value="">not sent</option>${values.map((value) => `<option>${escapeHtml(value)}</option>`).join('')}</select>`
    : `<input ${attributes} autocomplete="off" ${required ? `required value="${escapeHtml(example)}"` : 'placeholder="not sent"'}>`;
  return `<label>${name}${control}</label>`;
}
