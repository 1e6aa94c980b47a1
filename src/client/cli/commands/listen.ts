import { parseArgs } from 'node:util';
import { systemClock } from '../../clock.ts';
import type { CliCommand } from '../context.ts';
import { jobEndEventOf, newWebhookSecret, signedDeliveryHeaders } from '../events.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { JobWatch } from '../watch.ts';

const OPTIONS = {
  'forward-to': { type: 'string' },
  events: { type: 'string', default: 'job.completed,job.failed' },
} as const;

const MAX_ANSWER_MS = 10_000;

export const listenCommand: CliCommand = {
  usage: `darkroom listen --forward-to ADDRESS [--events job.completed,job.failed]

Sends what jobs of the account announce to an address of this machine, so that a receiver of webhooks can be written where the
service cannot reach it. It looks every two seconds which jobs have ended, and makes the event of each itself: its body is that of
the service, its id is not. It signs with DARKROOM_WEBHOOK_SECRET, or with a new secret that it prints. What is not received is not
sent again.
`,
  async run(args, context) {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    const address = values['forward-to'];
    if (address === undefined || !URL.canParse(address))
      throw new UsageError('Name the address with --forward-to, such as http://localhost:4000/hook.');
    const types = values.events.split(',');
    const { terminal, environment } = context;
    const secret = environment.DARKROOM_WEBHOOK_SECRET || newWebhookSecret();
    const stopped = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
    try {
      const watch = await JobWatch.open(await context.client(), systemClock, stopped.signal);
      terminal.note(`Forwarding to ${address}, signed with ${secret}`);
      for await (const job of watch.ended(stopped.signal)) {
        const event = jobEndEventOf(job);
        if (!types.includes(event.type)) continue;
        const body = JSON.stringify(event);
        const headers = signedDeliveryHeaders(event, body, secret, Date.now());
        const outcome = await deliver(address, headers, body);
        terminal.result(
          { event, ...outcome },
          `${event.type}  ${job.id} → ${outcome.status ?? outcome.error}`,
        );
      }
    } catch (error) {
      if (!stopped.signal.aborted) throw error;
    }
    return EXIT_CODES.done;
  },
};

/** Delivers an event. Returns the status of the receiver, or why there is none. */
async function deliver(
  address: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status?: number; error?: string }> {
  try {
    const signal = AbortSignal.timeout(MAX_ANSWER_MS);
    const { status } = await fetch(address, { method: 'POST', headers, body, redirect: 'manual', signal });
    return { status };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    return { error: cause?.message || message };
  }
}
