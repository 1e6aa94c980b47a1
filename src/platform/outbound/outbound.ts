import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { Tracing } from '../tracing/tracing.ts';
import { blockListOf } from './addresses.ts';
import { apiErrorOfOutbound } from './errors.ts';
import { exchangeHttp } from './exchange.ts';
import { type FetchedImage, fetchImage, type ImageFetchOptions } from './image.ts';
import {
  type NetworkRules,
  type ResolvedAddress,
  type ResolveHostName,
  resolveTarget,
  type TargetRules,
} from './target.ts';

export interface OutboundOptions {
  /** CIDRs that may be reached although they are not public. */
  allowedSubnets: readonly string[];
  /** Webhooks may go to plain http and to any port. */
  allowsHttp: boolean;
  resolve?: ResolveHostName;
  connectTimeoutMs?: number;
}

interface PostOptions {
  headers: Record<string, string>;
  body: Uint8Array;
  /** From the connection to the end of the answer's headers. */
  answerTimeoutMs: number;
}

/** The only way to call addresses from users. */
export interface OutboundRequests {
  /** See image.ts: every failure is an ApiError. */
  fetchImage(url: string, options: ImageFetchOptions): Promise<FetchedImage>;
  /** Checks whether a webhook may be sent to a URL now. @throws ApiError 400 invalid_param on url. */
  checkWebhook(url: string): Promise<void>;
  /**
   * Posts to a URL of a user after checking it again, and returns the status. The body of the response is not read. The
   * timeouts for the connection and for the response apply in sequence.
   * @throws OutboundError, with the status of a response whose headers did not end.
   */
  postWebhook(url: string, options: PostOptions): Promise<number>;
}

const CONNECT_TIMEOUT_MS = 5_000;

export function createOutbound(options: OutboundOptions): OutboundRequests {
  const network: NetworkRules = {
    allowed: blockListOf(options.allowedSubnets),
    resolve: options.resolve ?? resolveHostName,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  };
  const webhookRules: TargetRules = { allowsHttp: options.allowsHttp, allowsAnyPort: options.allowsHttp };
  return {
    fetchImage: (url, call) => fetchImage(url, call, network),
    async checkWebhook(url) {
      await resolveTarget(url, webhookRules, network).catch((error: unknown) => {
        throw apiErrorOfOutbound(error);
      });
    },
    async postWebhook(url, call) {
      const target = await resolveTarget(url, webhookRules, network);
      const response = await exchangeHttp(target, { method: 'POST', ...call }, network.allowed);
      response.destroy();
      return response.statusCode ?? 0;
    },
  };
}

/**
 * Traces each exchange in a span, and sends the trace to receivers of webhooks. Spans contain no addresses, because
 * addresses are private to callers.
 */
export function traceOutbound(outbound: OutboundRequests, tracing: Tracing): OutboundRequests {
  if (!tracing.isOn) return outbound;
  return {
    fetchImage: (url, options) => tracing.span('fetch url', {}, () => outbound.fetchImage(url, options)),
    checkWebhook: (url) => outbound.checkWebhook(url),
    postWebhook: (url, options) =>
      tracing.trace('delivery', {}, () =>
        outbound.postWebhook(url, { ...options, headers: { ...options.headers, ...tracing.headers() } }),
      ),
  };
}

/** The timeout of a query to a name server, and the number of attempts. */
const TIMEOUT_MS = 1_500;
const MAX_TRIES = 2;
const HOSTS_FILE = '/etc/hosts';
/** DNS error codes for a missing name, or missing addresses of a family. */
const NOT_FOUND_CODES = ['ENODATA', 'ENOTFOUND'];

/**
 * Resolves names by the hosts file, and by DNS over separate sockets with timeouts. The system's resolver would occupy
 * one of libuv's few threads while a name server does not respond, and files and pictures need the same threads. Search
 * domains are not appended, because URLs contain full host names.
 */
export const resolveHostName: ResolveHostName = async (hostname) => {
  const listed = addressesInHostsFile(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), hostname);
  return listed.length > 0 ? listed : queryDns(hostname);
};

/** The addresses that a hosts file gives a name: `address name alias … # comment`, one per line. */
export function addressesInHostsFile(hosts: string, hostname: string): ResolvedAddress[] {
  const name = withoutDot(hostname);
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (!names.some((other) => withoutDot(other) === name)) return [];
    return [{ address, family: address.includes(':') ? 6 : 4 } as const];
  });
}

function withoutDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Queries IPv4 and IPv6 addresses at once. If one query fails, the addresses of the other are used. */
async function queryDns(hostname: string): Promise<ResolvedAddress[]> {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: MAX_TRIES });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  if (addresses.length > 0) return addresses;
  const failure = [v4, v6].find(
    (answer) => answer.status === 'rejected' && !NOT_FOUND_CODES.includes(answer.reason?.code),
  );
  if (failure?.status === 'rejected') throw failure.reason;
  return [];
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}
