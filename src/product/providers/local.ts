import type { Readers } from '../../imaging/readers/readers.ts';
import { DEFAULT_LANGUAGE } from '../../imaging/readers/reading.ts';
import { type Provider, rejected } from './provider.ts';

/** The time that a reader has for a picture; the deadline of the attempt ends it earlier. */
const TIMEOUT_MS = 60_000;

/** The models that run on this machine: one reads text, the other reads bar codes and QR codes. */
export function createLocal(readers: Readers): Provider {
  return {
    async run({ providerModel, pictures: [picture] }, { accountId, signal }) {
      if (picture === undefined) throw rejected('A picture is needed to read from.');
      const reading =
        providerModel === 'text'
          ? { kind: 'text' as const, language: DEFAULT_LANGUAGE }
          : { kind: 'codes' as const };
      const deadlineMs = Date.now() + TIMEOUT_MS;
      const call = { bytes: picture.bytes, reading, accountId, signal, deadlineMs, work: 'job' as const };
      return { kind: 'json', value: (await readers.read(call).result).output };
    },
  };
}
