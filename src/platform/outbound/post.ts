import { type Call, exchange } from './exchange.ts';
import { type Network, type TargetRules, vet } from './target.ts';

export interface PostOptions {
  headers: Record<string, string>;
  body: Uint8Array;
  /** From the connection to the end of the answer's headers. */
  answerTimeoutMs: number;
  signal?: AbortSignal;
}

/**
 * Posts to a URL of a user after checking it again, and returns the status. The body of the response is not read. The
 * timeouts for the connection and for the response apply in sequence.
 * @throws OutboundError, with the status of a response whose headers did not end; the signal's reason when the caller
 *   aborted.
 */
export async function post(
  text: string,
  { headers, body, answerTimeoutMs, signal }: PostOptions,
  rules: TargetRules,
  network: Network,
): Promise<number> {
  const target = await vet(text, rules, network, signal);
  const call: Call = { method: 'POST', headers, body, answerTimeoutMs };
  const response = await exchange(target, signal === undefined ? call : { ...call, signal }, network.allowed);
  response.destroy();
  return response.statusCode ?? 0;
}
