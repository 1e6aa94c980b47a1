import type { Settings } from '../../../config/index.ts';
import { type DoctorFinding, findingsOrProblem, okFinding } from './finding.ts';
import { requestAddress } from './times.ts';

const ADDRESSES = ['OPENAI_BASE_URL', 'GEMINI_BASE_URL', 'REPLICATE_BASE_URL'] as const;

/** Checks whether the configured addresses of model providers respond. No key is sent, and no model runs. */
export async function checkProviders({ providers }: Settings): Promise<DoctorFinding[]> {
  const set = ADDRESSES.filter((name) => providers[name] !== '');
  if (set.length === 0) return [okFinding('No address of a model provider is set.')];
  const found = await Promise.all(set.map((name) => checkAddress(name, providers[name])));
  return found.flat();
}

/** Checks that an address responds. Any HTTP response is enough, because only real calls test a provider's key. */
function checkAddress(name: string, url: string): Promise<DoctorFinding[]> {
  return findingsOrProblem(
    async () => {
      await requestAddress(url);
      return [okFinding(`${name} (${url}) answers.`)];
    },
    (reason) => `${name} (${url}) does not answer: ${reason}.`,
    `Start the server of the models, or correct ${name}: AI ops that use it fail until then.`,
  );
}
