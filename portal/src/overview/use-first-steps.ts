import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { apps as appsOperation, deliveries, webhooks } from '../api/operations.ts';
import type { PortalApp, Webhook } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { moveFocus } from '../ui/move-focus.ts';

const openParameter = 'first-steps';

type Added = { app: PortalApp; webhook: Webhook };

/** The way from an account to a webhook that works: how far somebody is, from what exists. `added`: what they have just added. */
export function useFirstSteps(added: Added | null = null) {
  // In this browser: after the last step, or when somebody has hidden them.
  const [isHidden, setHidden] = useLocalStorage({
    key: 'first-steps-hidden',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const [address, setAddress] = useSearchParams();
  const apps = useQuery(appsOperation()).data?.entries;
  const usable = apps?.filter((each) => can(each, 'changeWebhooks'));
  const app = added?.app ?? usable?.find(({ webhookCount }) => webhookCount > 0) ?? usable?.[0];
  const count = usable?.reduce((sum, { webhookCount }) => sum + webhookCount, 0) ?? 0;
  const isOpen = address.has(openParameter);
  // An open dialog stays, whatever others do meanwhile: it may show a secret.
  const isShown =
    apps !== undefined && (isOpen || (!isHidden && count < 2 && (apps.length === 0 || !!app)));
  const { data: hooks } = useQuery({
    ...webhooks(app?.id ?? ''),
    enabled: isShown && (app?.webhookCount ?? 0) > 0,
  });
  const webhook = added?.webhook ?? hooks?.entries[0];
  const accepted = { event: 'webhook.test', status: 'succeeded', limit: 1 } as const;
  const { data: tests } = useQuery({
    ...deliveries(app?.id ?? '', { ...accepted, ...(webhook && { webhookId: webhook.id }) }),
    enabled: isShown && webhook !== undefined,
  });
  const isTested = tests && tests.pagination.total > 0;
  const done = [app, webhook, isTested].filter(Boolean).length;
  const setOpen = (opens: boolean) =>
    setAddress(
      (before) => {
        const after = new URLSearchParams(before);
        if (opens) after.set(openParameter, '');
        else after.delete(openParameter);
        return after;
      },
      // Back leaves the page, so that it is asked about a secret that is shown.
      { replace: true },
    );
  return {
    isShown,
    app,
    webhook,
    /** Undefined until it is read. */
    isTested,
    done,
    hide: () => {
      setHidden(true);
      setOpen(false);
      moveFocus();
    },
    /** The address says whether the dialog is open, so that its script can close it. */
    isOpen,
    setOpen,
  };
}
