/** How serious an announcement is, and the words for it: on the status page, in the portal and in mails. */
export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

export const severityLabels: Record<Severity, string> = {
  info: 'Announcement',
  warning: 'Warning',
  critical: 'Important',
};
