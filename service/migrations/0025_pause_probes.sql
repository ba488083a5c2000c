-- Of webhooks that are suspended now, nobody knows whether they were probed.
update webhook_healing h set paused = true
from webhooks w
where w.id = h.webhook_id and not w.active and w.deactivated_reason = 'failing' and w.self_healing
  and exists (select from suspensions s where s.webhook_id = w.id or s.app_id = w.app_id);
