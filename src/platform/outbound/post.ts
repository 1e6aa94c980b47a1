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
 * Posts to a URL that a user gave, vetting it again, and answers the status, whichever it is. The body of the answer is
 * not read. It ends within the network's time to connect and the time to answer, one after the other.
 * @throws OutboundError, with the status of an answer that began and never ended its headers; the signal's reason when
 *   the caller aborted.
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
