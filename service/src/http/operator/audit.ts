/** The console's operation on the audit log, like `orgdir audit list`. */
import { Type } from 'typebox';
import { listAudit } from '../../access/audit-log.ts';
import { consoleSearchCharsMax } from '../../contract/console.ts';
import { cursorList } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { OperatorAuditEntry } from '../../contract/operator.ts';
import { noNul, strictObject, uuid } from '../../contract/shapes.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import { olderPage, olderPageOf } from './deliveries.ts';
import { operation } from './surface.ts';

const text = (description: string) =>
  Type.Optional(
    Type.String({ ...noNul, minLength: 1, maxLength: consoleSearchCharsMax, description }),
  );

const AuditQuery = strictObject({
  action: text('Return only this action, such as `key.revoked`, or a group, such as `key`.'),
  subject: Type.Optional(uuid({ description: 'Return only changes of the object with this id.' })),
  app: Type.Optional(uuid({ description: 'Return only changes that concern this app.' })),
  before: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The id of the last entry of the page before.' }),
  ),
});

const example: OperatorAuditEntry = {
  id: 17,
  at: exampleTime,
  actor: { kind: 'operator', id: exampleId, name: 'ada@example.org' },
  action: 'app.suspended',
  subject: { kind: 'app', id: exampleId },
  appId: exampleId,
  details: { name: 'Announcer', reason: 'Sends unwanted messages.' },
};

export const auditOperations = [
  operation({
    operationId: 'listEveryChange',
    method: 'GET',
    path: '/audit',
    summary: 'List the changes by everybody',
    description: 'Returns who changed what, newest first.',
    query: AuditQuery,
    returns: { 200: 'The changes.' },
    response: {
      schema: cursorList(OperatorAuditEntry, 'OperatorAuditList'),
      example: olderPageOf([example]),
    },
    async run({ database, query: { action, subject, app, before } }) {
      const entries = await listAudit(database, {
        actor: null,
        action: action ?? null,
        subjectId: subject ?? null,
        appId: app ?? null,
        since: null,
        before: before ?? null,
        limit: olderPage + 1,
      });
      return olderPageOf(entries.map((entry): OperatorAuditEntry => withTextTimes(entry)));
    },
  }),
];
