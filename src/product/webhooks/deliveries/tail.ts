import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../../platform/stores/documents/port.ts';
import { EndpointsStore } from '../endpoints/store.ts';

const LISTENERS_CHANNEL = 'webhooks/listeners';
/** How long a listener is known after its last announcement. Listeners announce themselves regularly. */
const LISTENER_LIFE_MS = 15_000;
const ANNOUNCE_INTERVAL_MS = 4_000;

/** One attempt, as a listener receives it. */
export interface TailedAttempt {
  headers: Record<string, string>;
  body: string;
}

/** Sends attempts to listening operators, from the processes that make them. */
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
      tail.#listenedUntil.set(endpointId, performance.now() + LISTENER_LIFE_MS);
    });
    return tail;
  }

  /** Sends an attempt to the listeners of its endpoint. Without listeners it does nothing. */
  readonly onAttempt = (endpointId: string, headers: Record<string, string>, body: string): void => {
    const untilMs = this.#listenedUntil.get(endpointId);
    if (untilMs === undefined) return;
    if (untilMs < performance.now()) {
      this.#listenedUntil.delete(endpointId);
      return;
    }
    const attempt: TailedAttempt = { headers, body };
    // A failure is ignored, because the delivery does not depend on its listeners.
    this.#coordination.publish(attemptsChannel(endpointId), JSON.stringify(attempt)).catch(() => undefined);
  };

  close(): void {
    this.#unsubscribe();
  }
}

/**
 * Lets an operator receive the attempts to one endpoint from every process, until it is closed. Attempts are not
 * queued, and no record changes.
 * @throws Error when there is no such endpoint.
 */
export async function listenToAttempts(
  { documents, coordination }: { documents: DocumentStore; coordination: Coordination },
  endpointId: string,
  onAttempt: (attempt: TailedAttempt) => void,
): Promise<() => void> {
  const endpoints = await EndpointsStore.open(documents);
  if (!(await endpoints.exists(endpointId)))
    throw new Error(`There is no webhook endpoint ${endpointId}: \`webhooks\` lists them.`);
  const end = await coordination.subscribe(attemptsChannel(endpointId), (message) =>
    onAttempt(JSON.parse(message) as TailedAttempt),
  );
  const announce = () => void coordination.publish(LISTENERS_CHANNEL, endpointId).catch(() => undefined);
  await coordination.publish(LISTENERS_CHANNEL, endpointId);
  const timer = setInterval(announce, ANNOUNCE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    end();
  };
}

function attemptsChannel(endpointId: string): string {
  return `webhooks/attempts/${endpointId}`;
}
