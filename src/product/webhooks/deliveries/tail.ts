import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../../platform/stores/documents/port.ts';
import { EndpointsStore } from '../endpoints/store.ts';

const LISTENERS_CHANNEL = 'webhooks/listeners';
/**
 * How long a listener counts as present after it announced itself, in milliseconds. Listeners announce themselves
 * regularly.
 */
const LISTENER_TTL_MS = 15_000;
const LISTENER_ANNOUNCE_INTERVAL_MS = 4_000;

/** One attempt of a delivery, as a listener receives it. */
export interface TailedAttempt {
  headers: Record<string, string>;
  body: string;
}

/** Sends copies of attempts to operators who listen. The process that makes an attempt sends the copy. */
export class AttemptTail {
  readonly #coordination: Coordination;
  readonly #listenedUntil = new Map<string, number>();
  #unsubscribe: () => void = () => {};

  private constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  static async open(coordination: Coordination): Promise<AttemptTail> {
    const tail = new AttemptTail(coordination);
    tail.#unsubscribe = await coordination.subscribe(LISTENERS_CHANNEL, (endpointId) => {
      tail.#listenedUntil.set(endpointId, performance.now() + LISTENER_TTL_MS);
    });
    return tail;
  }

  /** Sends a copy of an attempt to those who listen to its endpoint. Without a listener, it does nothing. */
  readonly onAttempt = (endpointId: string, headers: Record<string, string>, body: string): void => {
    const untilMs = this.#listenedUntil.get(endpointId);
    if (untilMs === undefined) return;
    if (untilMs < performance.now()) {
      this.#listenedUntil.delete(endpointId);
      return;
    }
    const attempt: TailedAttempt = { headers, body };
    // An error is ignored, because it must not affect the delivery.
    this.#coordination.publish(attemptsChannel(endpointId), JSON.stringify(attempt)).catch(() => undefined);
  };

  close(): void {
    this.#unsubscribe();
  }
}

/**
 * Lets an operator receive a copy of every attempt to one endpoint, whichever process makes it, until the listener is
 * closed. Attempts are not queued for a listener, and no record changes.
 * @throws Error when there is no such endpoint.
 */
export async function listenToAttempts(
  { documents, coordination }: { documents: DocumentStore; coordination: Coordination },
  endpointId: string,
  onAttempt: (attempt: TailedAttempt) => void,
): Promise<() => void> {
  const endpoints = new EndpointsStore(documents);
  if (!(await endpoints.exists(endpointId)))
    throw new Error(`There is no webhook endpoint ${endpointId}: \`webhooks\` lists them.`);
  const end = await coordination.subscribe(attemptsChannel(endpointId), (message) =>
    onAttempt(JSON.parse(message) as TailedAttempt),
  );
  const announce = () => void coordination.publish(LISTENERS_CHANNEL, endpointId).catch(() => undefined);
  await coordination.publish(LISTENERS_CHANNEL, endpointId);
  const timer = setInterval(announce, LISTENER_ANNOUNCE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    end();
  };
}

function attemptsChannel(endpointId: string): string {
  return `webhooks/attempts/${endpointId}`;
}
