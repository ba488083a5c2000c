import { Switch } from '@mantine/core';
import { updateWebhook } from '../api/operations.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWebhookId } from './use-webhook-id.ts';
import type { WebhookTabProps } from './webhook-frame.tsx';

export function WebhookHealing(props: WebhookTabProps) {
  return (
    <Section
      title="After an outage"
      lead="These apply when the webhook is deactivated because deliveries fail."
    >
      <HealingSwitch
        {...props}
        setting="selfHealing"
        label="Self-healing"
        description="Sends webhook.probe until your server accepts two in a row, and then reactivates the webhook, at most three times a week."
      />
      <HealingSwitch
        {...props}
        setting="replayAfterHealing"
        label="Automatic replay"
        description="After self-healing, sends everything that the webhook missed since the last success."
      />
    </Section>
  );
}

type Props = WebhookTabProps & {
  setting: 'selfHealing' | 'replayAfterHealing';
  label: string;
  description: string;
};

/** Saves at once, and shows the choice while the request runs. */
function HealingSwitch({ webhook, mayChange, setting, ...texts }: Props) {
  const id = useWebhookId();
  const write = useWrite((isOn: boolean) => updateWebhook(id, { [setting]: isOn }), appChanges, {
    done: () => toastSuccess('Settings saved.'),
  });
  return (
    <>
      <Switch
        {...texts}
        checked={write.isPending ? write.variables : webhook[setting]}
        disabled={!mayChange}
        onChange={({ currentTarget }) => {
          if (!write.isPending) write.mutate(currentTarget.checked);
        }}
      />
      {write.isError && <Problem error={write.error} />}
    </>
  );
}
