import { Page } from '../layout/page.tsx';
import { useSession } from '../session/use-session.ts';
import { Activity } from './activity.tsx';
import { Address } from './address.tsx';
import { AnnouncementMails } from './announcement-mails.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { ExportData } from './export-data.tsx';
import { Methods } from './methods.tsx';
import { NameForm } from './name-form.tsx';
import { Password } from './password.tsx';
import { Sessions } from './sessions.tsx';
import { Shortcuts } from './shortcuts.tsx';

export function AccountPage() {
  const { data: session } = useSession();
  if (!session) return null;
  const { name, email } = session.user;
  return (
    <Page
      title="Your account"
      lead="Your name, how you sign in, and what happened to your account."
    >
      <Address email={email} />
      <NameForm name={name} />
      <Methods />
      <Password email={email} />
      <Sessions />
      <AnnouncementMails />
      <Shortcuts />
      <Activity />
      <ExportData />
      <DeleteAccount />
    </Page>
  );
}
