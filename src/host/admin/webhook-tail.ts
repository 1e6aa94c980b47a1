import type { HeardAttempt } from '../../product/webhooks/deliveries/tail.ts';
import { givenTo, UsageError } from './command.ts';
import { WEBHOOK_COMMANDS } from './webhook-commands.ts';

const FORWARD_TIMEOUT_MS = 10_000;

/** The options of `webhooks listen`. */
export interface ListenWish {
  endpointId: string;
  /** The URL to forward attempts to; null only prints them. */
  forward: URL | null;
}

/**
 * Parses `webhooks listen`; null for another command.
 * @throws UsageError
 */
export function listenWishOf(words: readonly string[]): ListenWish | null {
  const [noun, verb, ...rest] = words;
  const command = WEBHOOK_COMMANDS.find(({ name }) => name === `${noun} ${verb}`);
  if (command?.name !== 'webhooks listen') return null;
  const { endpoint, forward } = givenTo(command, rest).options;
  if (typeof endpoint !== 'string') throw new UsageError('--endpoint is missing: `webhooks` lists them.');
  if (forward === undefined) return { endpointId: endpoint, forward: null };
  const url = URL.parse(String(forward));
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--forward must be an http or https address such as http://127.0.0.1:4000/hook.');
  }
  return { endpointId: endpoint, forward: url };
}

/** Prints one attempt in a line, and forwards it with the same headers and bytes. */
export async function showAttempt(
  { headers, body }: HeardAttempt,
  forward: URL | null,
  print: (line: string) => void,
): Promise<void> {
  const what = `${headers['service-event-type']} ${headers['service-event-id']} attempt ${headers['service-attempt']}`;
  print(`${new Date().toISOString()} ${what}${forward === null ? `\n${body}` : ''}`);
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
