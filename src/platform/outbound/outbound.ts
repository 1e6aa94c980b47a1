import { subnets } from './addresses.ts';
import { refusalOf } from './errors.ts';
import { type FetchedImage, type FetchOptions, fetchImage } from './image.ts';
import { resolveName } from './names.ts';
import { type PostOptions, post } from './post.ts';
import { type Network, type Resolve, type TargetRules, vet } from './target.ts';

export interface OutboundOptions {
  /** CIDRs that may be reached although they are not public. */
  allowedSubnets: readonly string[];
  /** Webhooks may go to plain http and to any port. */
  allowsHttp: boolean;
  resolve?: Resolve;
  connectTimeoutMs?: number;
}

/** The only way to call addresses from users. */
export interface Outbound {
  /** See image.ts: every failure is an ApiError. */
  fetchImage(url: string, options: FetchOptions): Promise<FetchedImage>;
  /** Checks whether a webhook may be sent to a URL now. @throws ApiError 400 invalid_param on url. */
  checkWebhook(url: string): Promise<void>;
  /** See post.ts: returns the status; every failure is an OutboundError. The target is checked again. */
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
    checkWebhook: async (url) => {
      await vet(url, webhookRules, network).catch((error: unknown) => {
        throw refusalOf(error);
      });
    },
    postWebhook: (url, call) => post(url, call, webhookRules, network),
  };
}
