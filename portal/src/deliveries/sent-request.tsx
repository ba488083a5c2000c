import { SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import type { DeliveryDetail } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { HeaderList } from '../ui/header-list.tsx';
import { prettyJson } from './pretty-json.ts';
import { renderCurl } from './render-curl.ts';
import { fixedHeaders, requestHeaders } from './request-headers.ts';
import { Note } from '../ui/note.tsx';

type Props = {
  delivery: DeliveryDetail;
  body: string;
  /** The current URL of the webhook; undefined while loading, and for viewers, who see only a part of it. */
  url: string | undefined;
};

/** Shows the body and headers that were sent, and a command that repeats the request. */
export function SentRequest({ delivery, body, url }: Props) {
  const last = delivery.attempts.at(-1);
  return (
    <Stack gap="md">
      <Body body={body} />
      {last && (
        <Stack gap={4}>
          <HeaderList
            label={`Request headers, as sent at attempt ${last.number}`}
            headers={requestHeaders({ ...delivery, body }, last)}
          />
          <Note size="xs">
            The timestamp and its signature differ for each attempt; everything else stays the same.
          </Note>
        </Stack>
      )}
      {url !== undefined && <Curl delivery={delivery} body={body} url={url} />}
    </Stack>
  );
}

function Curl({ delivery, body, url }: Props & { url: string }) {
  const text = renderCurl({
    // The normalised form, as it is sent.
    url: new URL(url).href,
    body,
    id: delivery.id,
    signatureHeader: `X-${pageData.serviceName}-Signature`,
    headers: fixedHeaders(delivery),
  });
  return (
    <Stack gap={4}>
      <CodeBlock label="Repeat with curl" text={text} maxHeight={320} />
      <Note size="xs">
        Sends the same bytes with a new signature. Set WEBHOOK_SECRET to the secret of the webhook
        first. Needs curl and openssl.
      </Note>
    </Stack>
  );
}

function Body({ body }: { body: string }) {
  const [view, setView] = useState('pretty');
  return (
    <Stack gap="xs" align="stretch">
      <SegmentedControl
        aria-label="Body format"
        size="xs"
        style={{ alignSelf: 'flex-start' }}
        value={view}
        onChange={setView}
        data={[
          { value: 'pretty', label: 'Pretty' },
          { value: 'raw', label: 'Raw' },
        ]}
      />
      {view === 'pretty' ? (
        <CodeBlock label="Body, with line breaks added" text={prettyJson(body)} wrap isJson />
      ) : (
        <CodeBlock label="Body, exactly as sent" text={body} wrap isJson />
      )}
    </Stack>
  );
}
