import { subnets } from './addresses.ts';
import { refusalOf } from './errors.ts';
import { exchange } from './exchange.ts';
import { type FetchedImage, type FetchOptions, fetchImage } from './image.ts';
import { resolveName } from './names.ts';
import { type Network, type Resolve, type TargetRules, vet } from './target.ts';

export interface OutboundOptions {
  /** CIDRs that may be reached although they are not public. */
  allowedSubnets: readonly string[];
  /** Webhooks may go to plain http and to any port. */
  allowsHttp: boolean;
  resolve?: Resolve;
  connectTimeoutMs?: number;
}

interface PostOptions {
  headers: Record<string, string>;
  body: Uint8Array;
  /** From the connection to the end of the answer's headers. */
  answerTimeoutMs: number;
}

/** The only way to call addresses from users. */
export interface Outbound {
  /** See image.ts: every failure is an ApiError. */
  fetchImage(url: string, options: FetchOptions): Promise<FetchedImage>;
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

export function createOutbound(options: OutboundOptions): Outbound {
  const network: Network = {
    allowed: subnets(options.allowedSubnets),
    resolve: options.resolve ?? resolveName,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  };
  const webhookRules: TargetRules = { allowsHttp: options.allowsHttp, allowsAnyPort: options.allowsHttp };
  return {
    fetchImage: (url, call) => fetchImage(url, call, network),
    async checkWebhook(url) {
      await vet(url, webhookRules, network).catch((error: unknown) => {
        throw refusalOf(error);
      });
    },
    async postWebhook(url, call) {
      const target = await vet(url, webhookRules, network);
      const response = await exchange(target, { method: 'POST', ...call }, network.allowed);
      response.destroy();
      return response.statusCode ?? 0;
    },
  };
}
