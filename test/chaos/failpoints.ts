import type {
  DocumentCollection,
  DocumentStore,
  DocumentWithId,
} from '../../src/platform/stores/documents/port.ts';
import { DOCUMENT_CHANGES } from '../support/dying.ts';

/** A write that a process can die at. */
interface Write {
  collection: string;
  method: string;
  /** Its arguments as JSON text. */
  text: string;
}

const writes = (collection: string, pattern: RegExp) => (write: Write) =>
  write.collection === collection && pattern.test(write.text);

/** The steps of a job's life that change a document, by their names. */
export const POINTS: Record<string, (write: Write) => boolean> = {
  'job hidden': ({ collection, method }) => collection === 'jobs' && method === 'insertOne',
  'definition stored': ({ collection, method }) => collection === 'jobDefinitions' && method === 'insertOne',
  'money held': writes('accounts', /"reference":"hold\//),
  'quota reserved': writes('assetPlaces', /"way":"in","token"/),
  'items stored': ({ collection, method }) => collection === 'jobItems' && method === 'insertMany',
  'job opened': writes('jobs', /"\$set":\{"phase":"open"/),
  'quota confirmed': writes('assetPlaces', /"\$pull":\{"marks":\{"jobId":"[^"]*","way":"in"/),
  'job started': writes('jobs', /"slot":"/),
  'items claimed': writes('jobItems', /"queue":"claimed","status":"PROCESSING"/),
  'item put off': writes('jobItems', /"queue":"later"/),
  'output noted': ({ collection, method }) => collection === 'assets' && method === 'insertOne',
  'item decided': writes('jobItems', /"queue":"decided","outcome"/),
  'outputs kept': writes('assets', /"state":"kept"/),
  'items counted': writes('jobs', /"settlement":\{/),
  'item events written': writes('announced', /job\.item/),
  'items finished': writes('jobItems', /"\$unset":\{"queue":"","decidedAt":""/),
  'job cancelling': writes('jobs', /"\$set":\{"status":"CANCELLING"/),
  'items cancelled': writes('jobItems', /"\$set":\{"status":"CANCELLED","outcome"/),
  'job ended': writes('jobs', /"phase":"ended"/),
  'runs paid': writes('accounts', /"reference":"overage\//),
  'rest released': writes('accounts', /"reference":"release\//),
  'return of quota announced': writes('assetPlaces', /"way":"out","token"/),
  'return of quota noted': writes('jobs', /"\$set":\{"releaseToken":"/),
  'quota returned': writes('assetPlaces', /"\$inc":\{"stored":-/),
  'job event written': writes('announced', /job\.(completed|failed)"/),
  'job done': writes('jobs', /"phase":"done"/),
};

/** Where a process dies: just before, or just after, the n-th write of a name (from 1). */
export interface Failpoint {
  point: string;
  occurrence: number;
  moment: 'before' | 'after';
}

/** A process that reached its failpoint: from then on no call of it reaches a store, and none is answered. */
export interface Life {
  isDead: boolean;
  /** Calls of documents that it waits for. */
  inFlight: number;
  /** Resolves at its death. */
  died: Promise<void>;
  /** Ends it now. What a dead process awaits never comes. */
  die(): Promise<never>;
}

/** Documents through which a process reaches its failpoint; null for one that lives. */
export function mortal(
  documents: DocumentStore,
  failpoint: Failpoint | null,
): { documents: DocumentStore; life: Life } {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const forever = () => new Promise<never>(() => undefined);
  const life: Life = {
    isDead: false,
    inFlight: 0,
    died,
    die() {
      life.isDead = true;
      resolve();
      return forever();
    },
  };
  let seen = 0;

  async function counted(run: () => unknown): Promise<unknown> {
    life.inFlight += 1;
    try {
      return await run();
    } finally {
      life.inFlight -= 1;
    }
  }

  async function pass(write: Write, run: () => unknown): Promise<unknown> {
    if (life.isDead) return forever();
    const isPoint =
      failpoint !== null && DOCUMENT_CHANGES.has(write.method) && POINTS[failpoint.point]?.(write);
    if (isPoint) seen += 1;
    if (!isPoint || seen !== failpoint.occurrence) {
      const answer = await counted(run);
      return life.isDead ? forever() : answer;
    }
    life.isDead = true;
    // It also dies after a write that was refused: nothing reports the refusal.
    if (failpoint.moment === 'after') await Promise.resolve(run()).catch(() => undefined);
    return life.die();
  }

  function through<T extends DocumentWithId>(
    name: string,
    collection: DocumentCollection<T>,
  ): DocumentCollection<T> {
    return new Proxy(collection, {
      get(target, method) {
        const call: unknown = Reflect.get(target, method);
        if (typeof call !== 'function') return call;
        return (...args: unknown[]) =>
          pass({ collection: name, method: String(method), text: JSON.stringify(args) }, () =>
            call.apply(target, args),
          );
      },
    });
  }

  return {
    life,
    documents: {
      collection: (spec) => through(spec.name, documents.collection(spec)),
      prepare: (spec) => documents.prepare(spec),
      ping: () => documents.ping(),
      close: async () => undefined,
    },
  };
}
