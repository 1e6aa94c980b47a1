import { temporarilyUnavailableError } from '../../platform/http/errors/errors.ts';
import type { SendRequest } from './public-interface.ts';

/** The address of a service, and the API key for its calls. */
export interface RemoteService {
  /** Without a slash at the end. */
  url: string;
  apiKey: string;
}

/**
 * Sends calls over HTTP.
 * @throws ApiError (from the calls) provider_unavailable when the service cannot be reached.
 */
export function sendOverHttp({ url, apiKey }: RemoteService): SendRequest {
  return async ({ method, path, headers, body, signal }) => {
    try {
      const response = await fetch(url + path, {
        ...{ method, body, signal, redirect: 'manual' },
        headers: { ...headers, authorization: `ApiKey ${apiKey}` },
      });
      return {
        status: response.status,
        headers: response.headers,
        bytes: Buffer.from(await response.arrayBuffer()),
      };
    } catch (error) {
      signal.throwIfAborted();
      throw temporarilyUnavailableError(
        'service_unreachable',
        `The service at ${url} does not answer: start it, or correct its address.`,
        5,
        error,
      );
    }
  };
}
