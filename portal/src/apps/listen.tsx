import { apiAddress } from '../api/public-api.ts';
import { pageData } from '../page-data.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { Section } from '../ui/section.tsx';

const tarball = `${apiAddress}/client/orgdir-client-${pageData.version}.tgz`;

/** The command that receives the app's events on the developer's machine. The key comes from the environment. */
export function Listen() {
  return (
    <Section
      title="Receive events on your machine"
      lead="This command needs no public address. It streams the events of the app, signs each as a delivery, sends it to your handler and shows the response. Set ORGDIR_API_KEY to a key with the scope read:events."
    >
      <CodeBlock
        label="Command for your terminal"
        text={`npx --yes ${tarball} listen --forward-to http://localhost:4000/hooks`}
        wrap
      />
    </Section>
  );
}
