import type { Test } from 'tap';
import { readSettings } from '../../../config/index.ts';
import { ImageWorkers } from '../../../src/imaging/images/image-workers.ts';
import { Readers } from '../../../src/imaging/readers/readers.ts';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import type {
  AdmissionRequest,
  Coordination,
  SharedSlotRequest,
} from '../../../src/platform/stores/coordination/port.ts';
import { disabledTracing } from '../../../src/platform/tracing/tracing.ts';
import {
  findModel,
  type ModelsFile,
  onlyOfferedModels,
  readModels,
} from '../../../src/product/models/models.ts';
import { AnswerSchemaChecker } from '../../../src/product/providers/answers.ts';
import { type ModelCall, type ModelOutcome, Providers } from '../../../src/product/providers/open.ts';
import { createOfferCheck } from '../../../src/product/providers/registry.ts';
import { smallCapacity } from '../../support/capacity.ts';

/** A call with its pictures as bytes. */
export type TestCall = Partial<Omit<ModelCall, 'pictures'>> & {
  input?: Uint8Array<ArrayBuffer>;
  references?: Uint8Array<ArrayBuffer>[];
};

export interface TestProviders {
  models: ModelsFile;
  /** One try. The default of the fields is an edit of the first item. */
  run(call: TestCall, signal?: AbortSignal): Promise<ModelOutcome>;
  /** The lines of the log, as text. */
  logged(): string;
}

/** The providers with the settings of a test, real pixels, and slots in memory. */
export function openTestProviders(t: Test, environment: Record<string, string> = {}): TestProviders {
  const settings = readSettings(environment);
  const models = onlyOfferedModels(readModels(), createOfferCheck(settings.providers));
  const imageWorkers = new ImageWorkers({
    settings: settings.images,
    capacity: smallCapacity(),
    log: { warn: () => undefined },
  });
  const readers = new Readers(imageWorkers);
  const outbound = new OutboundRequests({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true });
  const lines: string[] = [];
  const providers = new Providers({
    tracing: disabledTracing,
    answerSchemas: new AnswerSchemaChecker(),
    settings: settings.providers,
    models,
    imageWorkers,
    readers,
    outbound,
    coordination: slotsInMemory(),
    hostId: 'host',
    processId: 'process',
    log: {
      error: (context, message) =>
        lines.push(JSON.stringify([message, context, String((context as { err?: Error }).err)])),
    },
  });
  t.teardown(() => Promise.all([providers.stop(), readers.close(), imageWorkers.close()]));
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

/** Counts slots as the real coordination does. Providers call nothing else of it. */
function slotsInMemory(): Coordination {
  const held = new Map<string, Set<string>>();
  const slotsOf = (key: string) => held.get(key) ?? held.set(key, new Set()).get(key) ?? new Set<string>();
  const part = {
    takeShared: async (slot: SharedSlotRequest) => (await part.admit({ slot })).slot,
    async admit({ slot }: AdmissionRequest) {
      const slots = slotsOf(slot?.key ?? '');
      const isFree = slot !== undefined && slots.size < slot.limit;
      if (isFree) slots.add(slot.holder);
      return { blockedMs: 0, flagged: false, rate: null, slot: isFree };
    },
    async releaseSlot(key: string, holder: string) {
      slotsOf(key).delete(holder);
    },
    renewSlot: async () => true,
  };
  return part as unknown as Coordination;
}
