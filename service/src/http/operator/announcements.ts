/** The console's operations on announcements, like `orgdir announcements`. */
import { createOnce } from '../../access/create-once.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { MadeAnnouncement, NewAnnouncement } from '../../contract/operator.ts';
import { requireTime } from '../../contract/parse-time.ts';
import { deleted } from '../../contract/shapes.ts';
import { Announcement } from '../../contract/status.ts';
import {
  announce,
  endAnnouncement,
  findAnnounced,
  listAnnouncements,
} from '../../system/announcements.ts';
import {
  CreationHeaders,
  idempotencyKeyOf,
  repeatable,
  tellRepeated,
} from '../idempotent-requests.ts';
import { onOnePage } from '../portal/surface.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

const Ended = deleted('The id of the announcement.', {
  title: 'EndedAnnouncement',
  description: 'Confirms that the announcement is no longer shown.',
});

const toTime = (text: string | null | undefined) => (text ? requireTime(text) : null);

export const announcementOperations = [
  operation({
    operationId: 'listAnnouncements',
    method: 'GET',
    path: '/announcements',
    summary: 'List what is announced',
    description: 'Returns the announcements that are shown, newest first.',
    returns: { 200: 'The announcements.' },
    response: listOf(Announcement, 'AnnouncementList', {
      id: exampleId,
      severity: 'info',
      text: 'The directory moves to a larger machine.',
      startsAt: null,
      endsAt: null,
      createdAt: exampleTime,
    }),
    run: async ({ database }) => onOnePage(await listAnnouncements(database)),
  }),
  operation({
    operationId: 'createAnnouncement',
    method: 'POST',
    path: '/announcements',
    summary: 'Announce something',
    description: `It is shown at once in the portal, on the status page and in \`GET /status\`. ${repeatable} After it has ended, it is a \`conflict\`, too.`,
    body: NewAnnouncement,
    returns: { 201: 'It is shown.' },
    response: oneOf(MadeAnnouncement, 'MadeAnnouncementResponse', { id: exampleId, mails: 12 }),
    headers: CreationHeaders,
    errors: ['conflict'],
    async run({ change, actor, body, request, reply }) {
      const { severity, text, startsAt, endsAt, mail } = body;
      const given = { severity, text, startsAt: toTime(startsAt), endsAt: toTime(endsAt) };
      const once = {
        by: actor.id,
        key: idempotencyKeyOf(request),
        content: ['announce', given, mail],
      };
      const { isRepeated, ...announced } = await change(async (tx) => {
        const made = await createOnce(
          tx,
          once,
          async () => (await announce(tx, actor, given, { mailed: mail })).id,
        );
        return { ...(await findAnnounced(tx, made.id)), isRepeated: made.isRepeated };
      });
      tellRepeated(reply, isRepeated);
      return envelope(announced);
    },
  }),
  operation({
    operationId: 'endAnnouncement',
    method: 'DELETE',
    path: '/announcements/:id',
    summary: 'End an announcement',
    description:
      'It is no longer shown, and mails that were not sent yet are not. One that has ended is `not_found`.',
    returns: { 200: 'It is no longer shown.' },
    response: oneOf(Ended, 'EndedAnnouncementResponse', { id: exampleId, deleted: true }),
    async run({ change, actor, params: { id } }) {
      await change((tx) => endAnnouncement(tx, actor, id));
      return envelope({ id, deleted: true });
    },
  }),
];
