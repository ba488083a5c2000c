/** How serious an announcement is, the words for it on the status page, in the portal and in mails, and how long it may be. */
export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

export const severityLabels: Record<Severity, string> = {
  info: 'Announcement',
  warning: 'Warning',
  critical: 'Important',
};

export const announcementCharsMax = 500;
