import { Stack, Tabs } from '@mantine/core';
import { CodeBlock } from '../ui/code-block.tsx';
import go from './snippets/go.go?raw';
import php from './snippets/php.php?raw';
import python from './snippets/python.py?raw';
import shell from './snippets/shell.sh?raw';
// oxlint-disable-next-line import/default -- Vite gives the text of the file, into which the linter looks
import typescript from './snippets/typescript.ts?raw';
import { Note } from '../ui/note.tsx';

const snippets = [
  {
    name: 'TypeScript',
    text: typescript,
    needs:
      'Node.js 24 or later, nothing else. Save it as receiver.mts, or as receiver.ts with "type": "module" in package.json.',
  },
  { name: 'Python', text: python, needs: 'Python 3.9 or later, nothing else.' },
  { name: 'Go', text: go, needs: 'Go 1.19 or later, nothing else.' },
  {
    name: 'PHP',
    text: php,
    needs: 'PHP 8 or later. To try it: php -S 127.0.0.1:8080 receiver.php',
  },
  {
    name: 'Shell',
    text: shell,
    needs: 'A POSIX shell and openssl, behind a web server that runs CGI programs.',
  },
];

export default function SignatureSnippets() {
  return (
    <Stack gap="sm">
      <Note maw="70ch">
        Each checks the signature and the age of every delivery, and runs as it is, with the secret
        in the environment variable WEBHOOK_SECRET.
      </Note>
      <Tabs defaultValue="TypeScript" keepMounted={false}>
        <Tabs.List aria-label="Languages">
          {snippets.map(({ name }) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ name, text, needs }) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            <Stack gap="xs">
              <Note>Needs {needs}</Note>
              <CodeBlock label={`Receiver in ${name}`} text={text.trimEnd()} />
            </Stack>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
