import { isJsonObject } from '../../platform/values/json.ts';

interface ServiceRequest {
  method: 'GET' | 'POST' | 'PUT';
  /** The path from the root with its query, such as `/api/v1/ops?view=names`. */
  path: string;
  headers: Record<string, string>;
  body: Buffer<ArrayBuffer> | string | null;
  /** Whether the response is a picture that the tool passes on. If so, its size is not limited. */
  isPicture: boolean;
  /** Aborts when nobody waits for the response any more. */
  signal: AbortSignal;
}

export interface ServiceResponse {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** Sends a call with the caller's credential: within the process, or over HTTP. */
export type SendRequest = (request: ServiceRequest) => Promise<ServiceResponse>;

/** The error of a response in the form of the API. */
export interface ServiceError {
  code: string;
  message: string;
  param?: string | undefined;
  retryable: boolean;
  details?: Record<string, unknown> | undefined;
  requestId?: string;
  /** Seconds until the same call may be made again, if the service says so. */
  retryAfterSeconds?: number | undefined;
}

export class ServiceCallError extends Error {
  override readonly name = 'ServiceCallError';
  readonly error: ServiceError;

  constructor(error: ServiceError) {
    super(error.message);
    this.error = error;
  }
}

/** The body of a call: JSON, or a multipart form with a file. */
export interface RequestPayload {
  json?: object;
  form?: FormData;
  headers?: Record<string, string>;
}

/** The public API, as the tools of one caller use it. */
export class PublicInterface {
  readonly #send: SendRequest;
  readonly #signal: AbortSignal;

  constructor(send: SendRequest, signal: AbortSignal) {
    this.#send = send;
    this.#signal = signal;
  }

  /**
   * Makes a call whose response is an envelope.
   * @param path the path below /api/v1, with its query.
   * @throws ServiceCallError
   */
  async call<T>(
    method: ServiceRequest['method'],
    path: string,
    sent: RequestPayload = {},
  ): Promise<{ data: T; headers: Headers }> {
    const { bytes, headers } = await this.#exchange(method, `/api/v1${path}`, sent);
    const { data } = JSON.parse(bytes.toString()) as { data: T };
    return { data, headers };
  }

  /**
   * Makes a call whose response is a picture.
   * @param path the path below /api/v1, with its query.
   * @throws ServiceCallError
   */
  picture(path: string, sent: RequestPayload): Promise<ServiceResponse> {
    return this.#exchange('POST', `/api/v1${path}`, sent);
  }

  /**
   * Reads a picture of any size.
   * @param path the path from the root.
   * @throws ServiceCallError
   */
  async read(path: string): Promise<Buffer> {
    return (await this.#exchange('GET', path, {}, true)).bytes;
  }

  /**
   * Reads a text response.
   * @param path the path from the root.
   * @throws ServiceCallError
   */
  async text(path: string): Promise<string> {
    return (await this.#exchange('GET', path, {})).bytes.toString();
  }

  async #exchange(
    method: ServiceRequest['method'],
    path: string,
    sent: RequestPayload,
    isPicture = false,
  ): Promise<ServiceResponse> {
    const { body, type } = await encodePayload(sent);
    const headers = { ...sent.headers, ...(type !== null && { 'content-type': type }) };
    const response = await this.#send({ method, path, headers, body, isPicture, signal: this.#signal });
    if (response.status >= 400) throw new ServiceCallError(serviceErrorOf(response));
    return response;
  }
}

async function encodePayload(
  payload: RequestPayload,
): Promise<Pick<ServiceRequest, 'body'> & { type: string | null }> {
  const { json, form } = payload;
  if (json !== undefined) return { body: JSON.stringify(json), type: 'application/json' };
  if (form === undefined) return { body: null, type: null };
  const response = new Response(form);
  return { body: Buffer.from(await response.arrayBuffer()), type: response.headers.get('content-type') };
}

/**
 * The error in a response. If the response is not an envelope, because a proxy made it, an error of the same form is
 * made.
 */
function serviceErrorOf({ status, headers, bytes }: ServiceResponse): ServiceError {
  const envelope = parseJsonOrNull(bytes);
  if (isJsonObject(envelope) && isJsonObject(envelope.error)) {
    const retryAfter = headers.get('retry-after');
    const error = envelope.error as unknown as ServiceError;
    return { ...error, ...(retryAfter !== null && { retryAfterSeconds: Number(retryAfter) }) };
  }
  const message = `The response has the status ${status}, and is not one of this service: check its address.`;
  return { code: 'internal_error', message, retryable: status >= 500 };
}

function parseJsonOrNull(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}
