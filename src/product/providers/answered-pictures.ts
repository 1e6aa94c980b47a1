import { ApiError } from '../../platform/http/errors/errors.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import { dial, type Endpoint, isOk, orFault, readBytes } from './exchange.ts';
import { unavailable } from './provider.ts';

const MAX_PICTURE_BYTES = 64 * MEGABYTE;
/** The deadline of the call is usually earlier. */
const FETCH_TIMEOUT_MS = 60_000;

/** Decodes a picture in base64. @throws ProviderFault if it is not one. */
export function pictureInBase64(text: unknown): Uint8Array<ArrayBuffer> {
  if (typeof text !== 'string' || text === '') throw unavailable('The model answered without an image.');
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/**
 * Fetches a picture from the URL in a provider's answer: directly from the host of its base URL, which the operator
 * trusts, and from any other host by the guarded fetcher. No key is sent.
 * @throws ProviderFault.
 */
export async function pictureAt(
  url: string,
  { baseUrl }: Endpoint,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const [, inline] = /^data:image\/[\w.+-]+;base64,(.+)$/s.exec(url) ?? [];
  if (inline !== undefined) return pictureInBase64(inline);
  const address = URL.parse(url, `${baseUrl}/`);
  if (address === null) throw unavailable('The model answered with an address that is not valid.');
  if (address.host === new URL(baseUrl).host) return fromItsHost(address, signal);
  const options = { limitBytes: MAX_PICTURE_BYTES, timeoutMs: FETCH_TIMEOUT_MS, signal };
  try {
    return (await outbound.fetchImage(address.href, options)).bytes;
  } catch (error) {
    if (error instanceof ApiError) throw unavailable('The picture that the model made could not be fetched.');
    throw error;
  }
}

async function fromItsHost(address: URL, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const response = await orFault(signal, () => dial(address, { method: 'GET', headers: {} }, signal));
  if (!isOk(response)) {
    response.destroy();
    throw unavailable(`The picture that the model made could not be fetched (HTTP ${response.statusCode}).`);
  }
  return orFault(signal, () => readBytes(response, MAX_PICTURE_BYTES));
}
