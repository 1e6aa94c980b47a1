import {
  choiceSetting,
  integerSetting,
  type Setting,
  textSetting,
  urlSetting,
} from '../../platform/setting.ts';

const BASE_URL_PATTERN = /^https?:\/\/[^\s@?#]+$/;

const baseUrlSetting = (description: string) =>
  urlSetting({
    description,
    pattern: BASE_URL_PATTERN,
    accepts: 'an http or https URL without credentials and without a query is expected',
  });

const keySetting = (description: string) =>
  textSetting({
    description,
    pattern: /^[\x21-\x7e]+$/,
    accepts: 'printable ASCII characters without spaces are expected',
    secret: true,
  });

const MAX_RETRY_WAIT_SECONDS = 300;
const MAX_CALL_RETRIES = 10;

export const providersSettings = {
  OPENAI_API_KEY: keySetting(
    'Key of OpenAI, or of a server that speaks its interface; its models are offered when this or OPENAI_BASE_URL is set.',
  ),
  OPENAI_BASE_URL: baseUrlSetting(
    'Where the OpenAI interface is spoken: https://api.openai.com/v1 when unset; vLLM, LocalAI or Ollama work without a key. http and private addresses are allowed.',
  ),
  GEMINI_API_KEY: keySetting(
    'Key of the Gemini API; its models are offered when this or GEMINI_BASE_URL is set.',
  ),
  GEMINI_BASE_URL: baseUrlSetting(
    'Where the Gemini API is spoken: https://generativelanguage.googleapis.com/v1beta when unset.',
  ),
  REPLICATE_API_TOKEN: keySetting(
    'Token of Replicate; its models are offered when this or REPLICATE_BASE_URL is set.',
  ),
  REPLICATE_BASE_URL: baseUrlSetting(
    "Where Replicate's API is spoken: https://api.replicate.com/v1 when unset.",
  ),
  SANDBOX_MODELS: choiceSetting({
    description:
      "Whether the sandbox's models are offered: they need no key, and draw and measure with plain image processing.",
    fallback: 'on',
    values: ['on', 'off'],
  }),
  PROVIDER_CONCURRENCY: integerSetting({
    description:
      'Calls that one host has open to one provider. An account that is alone gets all but one of them, so that the next account finds a slot. If another account has made a call in the last minute, an account gets at most half, rounded up.',
    fallback: 8,
    min: 1,
    max: 1_000,
  }),
  PROVIDER_TIMEOUT_SECONDS: integerSetting({
    description: 'How long one try of a model call may take, waiting for its picture included.',
    fallback: 120,
    min: 1,
    max: 3_600,
  }),
  PROVIDER_RETRY_SECONDS: retryScheduleSetting(),
};

/** A setting with the waits between attempts, in seconds. The n-th number is the wait before attempt n + 1. */
function retryScheduleSetting(): Setting<readonly number[]> {
  return {
    description:
      'Waits before each further try of a model call that failed for a reason that may pass, in seconds.',
    accepts: `1 to ${MAX_CALL_RETRIES} whole numbers from 0 to ${MAX_RETRY_WAIT_SECONDS}, separated by commas, are expected`,
    defaultText: '10,65',
    fallback: [10, 65],
    parse(value) {
      const waits = value.split(',').map((part) => part.trim());
      const isFine = waits.every((wait) => /^\d{1,3}$/.test(wait) && Number(wait) <= MAX_RETRY_WAIT_SECONDS);
      return isFine && waits.length <= MAX_CALL_RETRIES ? waits.map(Number) : undefined;
    },
  };
}
