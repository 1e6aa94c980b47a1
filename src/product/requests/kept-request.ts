/** An answered call as a process keeps it. Texts that are costly to parse are kept as they were sent. */
export interface KeptRequest {
  /** The X-Request-Id. A caller may choose it, so it need not be unique. */
  id: string;
  /** When the response was sent, in epoch milliseconds. */
  atMs: number;
  method: string;
  /** The path and the query without secrets. */
  path: string;
  /** The pattern of the route, such as `/api/v1/jobs/:jobId`. */
  route: string;
  status: number;
  durationMs: number;
  /** The size of the body as the client announced it; null if it did not. */
  bytesIn: number | null;
  /** The size of the response; null for a stream of unknown length. */
  bytesOut: number | null;
  /** Null for a console session. */
  apiKeyId: string | null;
  /** The header Server-Timing; null without one. */
  serverTiming: string | null;
  /** The header X-Service-Warnings; null without one. */
  warnings: string | null;
  refusal: KeptRefusal | null;
}

export interface KeptRefusal {
  code: string;
  message: string;
  retryable: boolean;
  param: string | null;
  reason: string | null;
  /** `details.fix` as JSON; null without one. */
  fix: string | null;
}

/** The memory of a kept request besides its texts: its objects, numbers and pointers. */
const OBJECT_BYTES = 300;

/** An estimate of the memory of a kept request. Text takes one byte per character, or two if it is not Latin. */
export function memoryBytesOfRequest({ id, path, serverTiming, warnings, refusal }: KeptRequest): number {
  const texts = [id, path, serverTiming, warnings, refusal?.message, refusal?.param, refusal?.fix];
  let characters = 0;
  for (const text of texts) characters += text?.length ?? 0;
  return OBJECT_BYTES + 2 * characters;
}
