import type { Darkroom } from '../client.ts';
import type { Output, Step } from '../nouns/images.ts';
import { UsageError } from './exit-codes.ts';
import { readListOption, readOpDefinition, readParameters } from './parameters.ts';

const FORM = 'NAME=OP:PARAMETER=VALUE,…, with further ops after a ;';
/** Matches a named output, as in `small=resize:width=320,format=webp;sharpen`. */
const NAMED = /^([a-z0-9][a-z0-9_-]*)=(.+)$/s;
const PRESET = 'preset:';

/**
 * The outputs that --outputs names: each a name with its work, a list of outputs as JSON, or a file with such a list.
 * @throws UsageError for an op or a parameter that does not exist.
 */
export async function readOutputs(sent: readonly string[], client: Darkroom): Promise<Output[]> {
  const outputs: Output[] = [];
  for (const text of sent) {
    const [, name, work] = NAMED.exec(text) ?? [];
    if (name === undefined || work === undefined)
      outputs.push(...((await readListOption('outputs', text)) as Output[]));
    else if (work.startsWith(PRESET)) outputs.push({ name, preset: work.slice(PRESET.length) });
    else {
      const steps = await readSteps(work, client);
      const [only, ...others] = steps;
      outputs.push(only !== undefined && others.length === 0 ? { name, ...only } : { name, steps });
    }
  }
  return outputs;
}

async function readSteps(work: string, client: Darkroom): Promise<Step[]> {
  const steps: Step[] = [];
  for (const text of work.split(';')) {
    const [, name = '', list = ''] = /^([^:]*):?(.*)$/s.exec(text) ?? [];
    const op = await readOpDefinition(client, name);
    const pairs = list.split(',').filter((pair) => pair !== '');
    steps.push({ op: op.op, parameters: readParameters(op, pairs.map(splitPair)) } as Step);
  }
  return steps;
}

function splitPair(pair: string): [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageError(`--outputs takes ${FORM}: ${pair} is no NAME=VALUE. A list of values needs JSON.`);
  return [name, value];
}
