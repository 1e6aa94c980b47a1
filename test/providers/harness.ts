import type { Test } from 'tap';
import { readSettings } from '../../config/index.ts';
import { findModel, type Models, offeredModels, readModels } from '../../src/models/models.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createPixels } from '../../src/pixels/pixels.ts';
import { createAnswerSchemas } from '../../src/providers/answer-schemas.ts';
import { type ModelCall, type ModelOutcome, openProviders } from '../../src/providers/open.ts';
import { offeredBy } from '../../src/providers/registry.ts';
import type { AdmitQuestion, Coordination, SharedPlaceQuestion } from '../../src/stores/coordination/port.ts';
import { smallCapacity } from '../capacity.ts';

/** A call with its pictures as they are. */
export type BenchCall = Partial<Omit<ModelCall, 'pictures'>> & {
  input?: Uint8Array<ArrayBuffer>;
  references?: Uint8Array<ArrayBuffer>[];
};

export interface Bench {
  models: Models;
  /** One try; what is left out is an edit of the first item. */
  run(call: BenchCall, signal?: AbortSignal): Promise<ModelOutcome>;
  /** What was logged, as text. */
  logged(): string;
}

/** The door to models on settings of the test's own, with real pixels and places in memory. */
export function bench(t: Test, environment: Record<string, string> = {}): Bench {
  const settings = readSettings(environment);
  const models = offeredModels(readModels(), offeredBy(settings.providers));
  const pixels = createPixels({
    settings: settings.pixels,
    capacity: smallCapacity(),
    log: { warn: () => undefined },
  });
  const outbound = createOutbound({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true });
  const lines: string[] = [];
  const providers = openProviders({
    answerSchemas: createAnswerSchemas(),
    settings,
    models,
    pixels,
    outbound,
    coordination: placesInMemory(),
    hostId: 'host',
    processId: 'process',
    log: {
      error: (context, message) =>
        lines.push(JSON.stringify([message, context, String((context as { err?: Error }).err)])),
    },
  });
  t.teardown(() => Promise.all([providers.stop(), pixels.close()]));
  return {
    models,
    logged: () => lines.join('\n'),
    run({ input, references = [], ...call }, signal = new AbortController().signal) {
      const model = findModel(models, call.model ?? 'sandbox-image');
      return providers.run(
        {
          op: 'edit',
          model: model?.id ?? call.model ?? 'none',
          parameters: {},
          pictures: async () => [...(input === undefined ? [] : [input]), ...references],
          itemIndex: 0,
          attempt: 1,
          accountId: 'acc_test',
          keep: async () => undefined,
          ...call,
        },
        signal,
      );
    },
  };
}

/** Counts places as the real coordination does; nothing else of it is asked. */
function placesInMemory(): Coordination {
  const held = new Map<string, Set<string>>();
  const placesOf = (key: string) => held.get(key) ?? held.set(key, new Set()).get(key) ?? new Set<string>();
  const part = {
    takeShared: async (place: SharedPlaceQuestion) => (await part.admit({ place })).place,
    async admit({ place }: AdmitQuestion) {
      const places = placesOf(place?.key ?? '');
      const isFree = place !== undefined && places.size < place.limit;
      if (isFree) places.add(place.holder);
      return { blockedMs: 0, marked: false, rate: null, place: isFree };
    },
    async releasePlace(key: string, holder: string) {
      placesOf(key).delete(holder);
    },
    renewPlace: async () => true,
  };
  return part as unknown as Coordination;
}
