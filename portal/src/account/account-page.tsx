import { Page } from '../layout/page.tsx';
import { useSession } from '../session/use-session.ts';
import { Address } from './address.tsx';
import { NameForm } from './name-form.tsx';
import { Methods } from './methods.tsx';
import { Password } from './password.tsx';
import { Sessions } from './sessions.tsx';

export function AccountPage() {
  const { data: session } = useSession();
  if (!session) return null;
  const { user } = session;
  return (
    <Page title="Your account" lead="Who you are here, and how you sign in.">
      <Address user={user} />
      <NameForm name={user.name} />
      <Methods />
      <Password email={user.email} />
      <Sessions currentId={session.id} />
    </Page>
  );
}
