import { DeliveriesStore } from '../../product/webhooks/deliveries/store.ts';
import type { TailedAttempt } from '../../product/webhooks/deliveries/tail.ts';
import { EndpointsStore } from '../../product/webhooks/endpoints/store.ts';
import { type AdminCommand, CommandUsageError, formatList, parseArguments } from './command.ts';

const FORWARD_TIMEOUT_MS = 10_000;

const LISTEN_COMMAND: AdminCommand = {
  name: 'webhooks listen',
  about:
    'Prints the attempts to an endpoint as they are made, and hands each to a program at --forward with its own signature. Changes no record.',
  options: { endpoint: 'ENDPOINT', forward: 'URL' },
  async run() {
    throw new CommandUsageError('webhooks listen goes on until it is ended: run it in a terminal.');
  },
};

export const WEBHOOK_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'webhooks',
    about: 'Lists every webhook endpoint with its state, its failures in a row and its queued deliveries.',
    async run(_given, { documents }) {
      const store = new EndpointsStore(documents);
      const deliveries = new DeliveriesStore(documents);
      const endpoints = [];
      const lines: string[] = [];
      for (const endpoint of await store.findEveryEndpoint()) {
        const { _id: id, accountId, url, events, enabled, consecutiveFailures, disabledReason } = endpoint;
        const queued = await deliveries.countQueued(accountId, id);
        endpoints.push({ id, accountId, url, events, enabled, consecutiveFailures, disabledReason, queued });
        const state = enabled
          ? 'enabled'
          : `disabled${disabledReason === null ? '' : ` (${disabledReason})`}`;
        lines.push(
          `${id}  ${accountId}  ${url}  ${state}  ${consecutiveFailures} failed in a row  ${queued} queued`,
        );
      }
      return { data: { endpoints }, text: formatList(lines, 'No webhook endpoints.') };
    },
  },
  LISTEN_COMMAND,
];

/** The options of `webhooks listen`. */
export interface WebhookListenOptions {
  endpointId: string;
  /** The URL to forward attempts to; null only prints them. */
  forward: URL | null;
}

/**
 * Parses `webhooks listen`; null for another command.
 * @throws CommandUsageError
 */
export function parseListenOptions(words: readonly string[]): WebhookListenOptions | null {
  const [noun, verb, ...rest] = words;
  if (`${noun} ${verb}` !== LISTEN_COMMAND.name) return null;
  const { endpoint, forward } = parseArguments(LISTEN_COMMAND, rest).options;
  if (typeof endpoint !== 'string')
    throw new CommandUsageError('--endpoint is missing: `webhooks` lists them.');
  if (forward === undefined) return { endpointId: endpoint, forward: null };
  const url = URL.parse(String(forward));
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandUsageError(
      '--forward must be an http or https address such as http://127.0.0.1:4000/hook.',
    );
  return { endpointId: endpoint, forward: url };
}

/**
 * Prints one attempt in a line. If there is a URL, forwards the attempt to it with the same headers and bytes; if not,
 * prints the body too.
 */
export async function printDeliveryAttempt(
  { headers, body }: TailedAttempt,
  forward: URL | null,
  print: (line: string) => void,
): Promise<void> {
  const attemptText = `${headers['service-event-type']} ${headers['service-event-id']} attempt ${headers['service-attempt']}`;
  print(`${new Date().toISOString()} ${attemptText}${forward === null ? `\n${body}` : ''}`);
  if (forward === null) return;
  try {
    const signal = AbortSignal.timeout(FORWARD_TIMEOUT_MS);
    const response = await fetch(forward, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    print(`  → ${forward.href} HTTP ${response.status}`);
  } catch (error) {
    print(`  → ${forward.href} ${(error as Error).message}`);
  }
}
