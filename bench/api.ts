/** Bytes with their media type. */
export interface SentBytes {
  type: string;
  bytes: Uint8Array;
}

/** Calls of the bench to an instance, with the key of one account. Paths are below /api/v1. */
export interface Api {
  /**
   * @returns the `data` of the response.
   * @throws Error with the text of the response when the call is refused.
   */
  get(path: string): Promise<Record<string, unknown>>;
  /** Sends JSON or bytes, and returns and throws as `get` does. */
  post(path: string, body: object | SentBytes): Promise<Record<string, unknown>>;
  /** Sends a POST, or a GET when there is no body. The caller judges the response. */
  send(path: string, body?: object | SentBytes, signal?: AbortSignal): Promise<Response>;
}

/** The API of an instance. @param key its API key; '' to call without one. */
export function openApi({ url, key }: { url: string; key: string }): Api {
  function send(path: string, body?: object | SentBytes, signal?: AbortSignal): Promise<Response> {
    const sent = body === undefined ? undefined : bytesOf(body);
    return fetch(`${url}/api/v1${path}`, {
      method: sent === undefined ? 'GET' : 'POST',
      headers: {
        ...(key !== '' && { authorization: `ApiKey ${key}` }),
        ...(sent !== undefined && { 'content-type': sent.type }),
      },
      ...(sent !== undefined && { body: sent.bytes as Uint8Array<ArrayBuffer> }),
      ...(signal !== undefined && { signal }),
    });
  }

  async function read(path: string, body?: object | SentBytes): Promise<Record<string, unknown>> {
    const response = await send(path, body);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    if (response.ok && isJson) return (JSON.parse(text) as { data: Record<string, unknown> }).data;
    // A body that is not JSON is the page of another server, such as a proxy, and says nothing about the call.
    const what = isJson
      ? text.slice(0, 500)
      : `${response.headers.get('content-type') ?? 'nothing'}, so it is not a Darkroom`;
    const method = body === undefined ? 'GET' : 'POST';
    throw new Error(`${method} ${path} was answered with ${response.status}: ${what}`);
  }

  return { get: read, post: read, send };
}

function bytesOf(body: object | SentBytes): SentBytes {
  if ('bytes' in body && body.bytes instanceof Uint8Array) return body;
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) };
}
