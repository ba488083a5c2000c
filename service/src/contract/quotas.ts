/**
 * What an app can have, and how many of each: docs/reference/errors-and-limits.md#keys-apps-and-the-portal. Operators set
 * other numbers for one app with `orgdir quotas`.
 */
export const defaultQuotas = { webhooks: 20, keys: 20, members: 50 };
export type CountedQuota = keyof typeof defaultQuotas;
export type Quota = CountedQuota | 'rate';

/** The most that an operator can set. Webhooks: a page of a list. Rate: requests per minute. */
export const quotasMax: Record<Quota, number> = {
  rate: 1_000_000,
  webhooks: 100,
  keys: 1_000,
  members: 1_000,
};
export const quotaNames = Object.keys(quotasMax) as Quota[];

/** Owners are mailed once per quota and day when this part is used. */
export const quotaNearPercent = 80;
