/** The request and the response of an attempt, side by side if there is room: bodies first, everything else folded. */
import { indentJson } from '@orgdir/client/command/indent-json';
import { Stack, Text, Title, type TitleOrder } from '@mantine/core';
import type { ReactNode } from 'react';
import { keptBytesMax } from '../../../service/src/contract/delivery-rules.ts';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { SmallFold } from '../ui/fold.tsx';
import { Note } from '../ui/note.tsx';
import classes from './exchange.module.css';
import { NoBody } from './no-body.tsx';
import { renderCurl } from './render-curl.ts';
import { fixedHeaders, isMessage, isSigned, requestHeaders } from './request-headers.ts';

type Props = {
  delivery: DeliveryDetail;
  /** Undefined before the first one ends. */
  attempt: Attempt | undefined;
  /** The current URL of the webhook; undefined while loading, and for viewers, who see only a part of it. */
  url: string | undefined;
  /** The level of the headings. */
  order: TitleOrder;
};

export function Exchange({ delivery, attempt, url, order }: Props) {
  const advice = attempt && describeAttempt(attempt, isMessage(delivery)).advice;
  return (
    <Stack gap="sm">
      {advice && (
        <Text size="sm" className={classes['advice'] ?? ''}>
          <strong>What to check:</strong> {advice}
        </Text>
      )}
      <div className={classes['sides']}>
        <Side title="Request" order={order}>
          <Request delivery={delivery} attempt={attempt} url={url} />
        </Side>
        <Side title="Response" order={order}>
          {attempt ? (
            <Response attempt={attempt} />
          ) : (
            <Note>{delivery.status === 'pending' ? 'None yet.' : 'No attempt was made.'}</Note>
          )}
        </Side>
      </div>
    </Stack>
  );
}

function Side({
  title,
  order,
  children,
}: { title: string; children: ReactNode } & Pick<Props, 'order'>) {
  return (
    <Stack gap="xs">
      <Title order={order} size="h5">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function Request({ delivery, attempt, url }: Omit<Props, 'order'>) {
  const { body } = delivery;
  if (body === null) return <NoBody event={delivery.event} />;
  return (
    <>
      <CodeBlock label="Body" text={indentJson(body)} maxHeight={320} wrap isJson copied={body} />
      {attempt && (
        <Headers
          label={`Request headers of attempt ${attempt.number}`}
          headers={requestHeaders({ ...delivery, body }, attempt)}
        />
      )}
      <SmallFold title="Body, exactly as sent">
        <CodeBlock label="Body, exactly as sent" text={body} wrap />
      </SmallFold>
      {url !== undefined && isSigned({ ...delivery, body }) && (
        <Curl delivery={delivery} body={body} url={url} />
      )}
    </>
  );
}

function Curl({ delivery, body, url }: { delivery: DeliveryDetail; body: string; url: string }) {
  const text = renderCurl({
    // The normalised form, as it is sent.
    url: new URL(url).href,
    body,
    id: delivery.id,
    signatureHeader: `X-${pageData.serviceName}-Signature`,
    headers: fixedHeaders(delivery),
  });
  return (
    <SmallFold title="Repeat with curl">
      <CodeBlock label="Repeat with curl" text={text} maxHeight={320} />
      <Note size="xs">
        Sends the same bytes with a new signature. Set WEBHOOK_SECRET to the secret of the webhook
        first. Needs curl and openssl.
      </Note>
    </SmallFold>
  );
}

function Response({ attempt }: { attempt: Attempt }) {
  const { responseHeaders, responseBody, statusCode } = attempt;
  if (statusCode === null) return <Note>There was no response.</Note>;
  if (responseHeaders === null) return <Note>The response can't be shown to viewers.</Note>;
  return (
    <>
      {responseBody ? (
        <CodeBlock
          label={`Response body${isCut(responseBody) ? `, first ${keptBytesMax / 1024} KiB` : ''}`}
          text={indentJson(responseBody)}
          copied={responseBody}
          maxHeight={320}
          wrap
          isJson
        />
      ) : (
        <Note>The body is empty.</Note>
      )}
      <Headers label="Response headers" headers={responseHeaders} />
    </>
  );
}

function Headers({ label, headers }: { label: string; headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return <Note>{label}: none.</Note>;
  return (
    <SmallFold title={`${label} (${entries.length})`}>
      <CopyButton
        value={entries.map(([name, value]) => `${name}: ${value}`).join('\n')}
        label={`Copy: ${label}`}
      />
      <DescriptionList entries={entries} isCode />
    </SmallFold>
  );
}

/** A body of the maximum length was most likely longer. Invalid UTF-8 takes more bytes after decoding. */
function isCut(body: string): boolean {
  return new TextEncoder().encode(body).length >= keptBytesMax;
}
