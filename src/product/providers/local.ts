import type { CodesRead, CodesTask } from '../../../workers/models/protocol.ts';
import { TextReader } from './local-text.ts';
import { type Provider, rejected } from './provider.ts';
import { Thread } from './threads.ts';

const CODES_THREAD = new URL('../../../workers/models/codes.ts', import.meta.url);
const HEAP_MEGABYTES = 512;

/** The packages of the readers, which an installation may omit. */
const PACKAGES = ['tesseract.js', '@tesseract.js-data/eng/package.json', 'zxing-wasm/reader'];

/** True when the packages of the local models are installed. */
export function isLocalInstalled(): boolean {
  try {
    for (const name of PACKAGES) import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The models that run on this machine: one reads text, the other reads bar codes and QR codes. */
export function createLocal(): Provider {
  const text = new TextReader();
  const codes = new Thread<CodesTask, CodesRead>(CODES_THREAD, HEAP_MEGABYTES);
  return {
    async run({ providerModel, pictures: [picture] }, { signal }) {
      if (picture === undefined) throw rejected('A picture is needed to read from.');
      const { width, height, bytes } = picture;
      const value =
        providerModel === 'text'
          ? { width, height, ...(await text.read(bytes, signal)) }
          : await codes.run({ picture: bytes }, signal);
      return { kind: 'json', value };
    },
    async close() {
      await Promise.all([text.close(), codes.close()]);
    },
  };
}
