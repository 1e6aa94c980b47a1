import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../../platform/stores/documents/port.ts';
import { EndpointsStore } from '../endpoints/store.ts';

const LISTENERS = 'webhooks/listeners';
/** A listener announces itself regularly. One that stops doing so is forgotten. */
const FORGOTTEN_MS = 15_000;
const ANNOUNCED_EVERY_MS = 4_000;

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
    tail.#unsubscribe = await coordination.subscribe(LISTENERS, (endpointId) => {
      tail.#listenedUntil.set(endpointId, performance.now() + FORGOTTEN_MS);
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
    // A listener may miss a message. The delivery itself does not depend on it.
    this.#coordination.publish(attemptsOf(endpointId), JSON.stringify(attempt)).catch(() => undefined);
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
  const end = await coordination.subscribe(attemptsOf(endpointId), (message) =>
    onAttempt(JSON.parse(message) as TailedAttempt),
  );
  const announce = () => void coordination.publish(LISTENERS, endpointId).catch(() => undefined);
  await coordination.publish(LISTENERS, endpointId);
  const timer = setInterval(announce, ANNOUNCED_EVERY_MS);
  return () => {
    clearInterval(timer);
    end();
  };
}

function attemptsOf(endpointId: string): string {
  return `webhooks/attempts/${endpointId}`;
}
