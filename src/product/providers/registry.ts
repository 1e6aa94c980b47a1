import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { Readers } from '../../imaging/readers/readers.ts';
import { areReadersInstalled, DEFAULT_LANGUAGE } from '../../imaging/readers/reading.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import type { ProviderName } from '../models/models.ts';
import type { providersSettings } from './config.ts';
import { createGemini } from './gemini.ts';
import { createOpenAi } from './openai.ts';
import { type Provider, rejectedFault } from './provider.ts';
import { createReplicate } from './replicate.ts';
import { createSandboxProvider } from './sandbox.ts';

type ProviderSettings = SettingsOf<typeof providersSettings>;

/**
 * Returns the function that says whether the models of a provider are offered. An external provider needs a key or a
 * base URL, the sandbox must not be switched off, and local models need their packages.
 */
export function createOfferCheck(settings: ProviderSettings): (provider: ProviderName) => boolean {
  const offered: Record<ProviderName, boolean> = {
    openai: isAnySet(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL),
    gemini: isAnySet(settings.GEMINI_API_KEY, settings.GEMINI_BASE_URL),
    replicate: isAnySet(settings.REPLICATE_API_TOKEN, settings.REPLICATE_BASE_URL),
    sandbox: settings.SANDBOX_MODELS === 'on',
    local: areReadersInstalled(),
  };
  return (provider) => offered[provider];
}

/** The clients of all offered providers. */
export function createConfiguredProviders(options: {
  settings: ProviderSettings;
  imageWorkers: ImageWorkers;
  outbound: OutboundRequests;
  readers: Readers;
}): Partial<Record<ProviderName, Provider>> {
  const { settings: set, imageWorkers, outbound, readers } = options;
  const isOffered = createOfferCheck(set);
  const openai = { key: set.OPENAI_API_KEY, baseUrl: set.OPENAI_BASE_URL, outbound };
  const gemini = { key: set.GEMINI_API_KEY, baseUrl: set.GEMINI_BASE_URL };
  const replicate = { token: set.REPLICATE_API_TOKEN, baseUrl: set.REPLICATE_BASE_URL, outbound };
  return {
    ...(isOffered('openai') && { openai: createOpenAi(openai) }),
    ...(isOffered('gemini') && { gemini: createGemini(gemini) }),
    ...(isOffered('replicate') && { replicate: createReplicate(replicate) }),
    ...(isOffered('sandbox') && { sandbox: createSandboxProvider(imageWorkers) }),
    ...(isOffered('local') && { local: createLocalProvider(readers) }),
  };
}

function isAnySet(...values: readonly string[]): boolean {
  return values.some((value) => value !== '');
}

/** The time limit for reading one picture, in milliseconds. The deadline of the attempt may come earlier. */
const PICTURE_READ_TIMEOUT_MS = 60_000;

/** The provider of the models that run on this machine. One reads text, the other bar codes and QR codes. */
function createLocalProvider(readers: Readers): Provider {
  return {
    async run({ providerModel, pictures: [picture] }, { accountId, signal }) {
      if (picture === undefined) throw rejectedFault('A picture is needed to read from.');
      const reading =
        providerModel === 'text'
          ? { kind: 'text' as const, language: DEFAULT_LANGUAGE }
          : { kind: 'codes' as const };
      const deadlineMs = Date.now() + PICTURE_READ_TIMEOUT_MS;
      const call = { bytes: picture.bytes, reading, accountId, signal, deadlineMs, work: 'job' as const };
      return { kind: 'json', value: (await readers.read(call).result).output };
    },
  };
}
