import { deadlineMs } from './forward.ts';

export const help = `Receive the events of a directory on this machine.

Usage:
  orgdir-client listen [--forward-to URL] [options]
  orgdir-client trigger [EVENT] [--forward-to URL] [options]

listen streams the events of an app, without an address that the service can reach, and signs each as a delivery.
  --forward-to URL   POST them to this handler, one after the other, and show its responses; each has ${deadlineMs / 1000} s
                     Without it, a receiver of its own verifies and prints them
  --event NAME       only this event; may be repeated
  --webhook ID       what this webhook is sent, instead of all events that the app may have
  --replay N         begin with the newest N events, 1 to 100
  --service URL      address of the service; default: ORGDIR_URL, or where npm installed this package from
  --key -            read the API key from standard input; default: ORGDIR_API_KEY. It needs the scope read:events
  --port PORT        port of the receiver of its own on 127.0.0.1; default: any free one
  --status STATUS    status with which the receiver of its own responds; default: 200

With --secret or --register it receives what the service itself sends to 127.0.0.1, and verifies and prints it.
  --secret SECRET    verify with this secret; may be repeated; - reads secrets from standard input, one per line
  --register         register as a webhook while it runs; the key needs the scope write:webhooks
  --event NAME, --service URL, --key -, --status STATUS and --port PORT (default: 4000) as above

trigger sends a sample of an event to a handler, without a service. Without EVENT it lists all.
  --forward-to URL   address of the handler; default: http://127.0.0.1:4000/
  --service-name N   SERVICE_NAME of the service, which names the headers X-…-Event; default: Service

  --json             print JSON, one value per line
  --help             print this

What this machine sends to itself is signed with WEBHOOK_SECRET, or else with a secret that is made once and kept.
Exit codes: 0 done, 1 refused or failed (standard error says why), 2 invalid arguments.

Examples:
  ORGDIR_API_KEY=odk_… orgdir-client listen --forward-to http://localhost:4000/hooks
  orgdir-client listen --key - --replay 10 < key.txt
  orgdir-client trigger org.created --forward-to http://localhost:4000/hooks`;
