import { useParams } from 'react-router';
import { pageData } from '../page-data.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';

const { allowsHttp, allowsNetworks } = pageData.webhookUrls;

/** The command that receives the app's deliveries in a terminal. It listens on the machine of the service only. */
export function Listen() {
  const { appId = '' } = useParams();
  return (
    <Section
      title="Receive deliveries in a terminal"
      lead="For operators: on the machine of the service, in the folder where it is installed, this command adds a webhook to the app while it runs, verifies each delivery and prints it."
    >
      <CodeBlock
        label="Command for this app"
        text={`npx orgdir listen --register --app ${appId}`}
        wrap
      />
      {!(allowsHttp && allowsNetworks) && (
        <Note>
          This service does not send to its own machine. To allow it, start the service with
          WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 and WEBHOOK_ALLOW_HTTP=true.
        </Note>
      )}
    </Section>
  );
}
