// needs: server
import t from 'tap';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { AiOp, GivenParameters, Op, PixelOp } from '../../../src/product/catalogue/op.ts';
import { modelsOfCategory, readModels } from '../../../src/product/models/models.ts';
import { sharedServer } from '../../support/harness.ts';
import { submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ credits: 1_000 });
const { key } = account;
const [assetId = '', otherId = ''] = await uploadPictures(server, account, 2);

const models = readModels();

/** The parameters of the example of an op, for the pictures of this file. */
function parametersOf(op: PixelOp | AiOp): GivenParameters {
  if (op.op === 'crop') return { x: 0, y: 0, width: 9, height: 9 };
  const parameters = (op.example.parameters ?? {}) as GivenParameters;
  return 'layerAssetId' in parameters ? { ...parameters, layerAssetId: otherId } : parameters;
}

/** Jobs with one parameter that is null, for each parameter of each op, and of each model that needs no network. */
function* jobsWithNull(): Generator<Record<string, unknown>> {
  for (const op of Object.values<Op>(OPS)) {
    if (op.runs !== 'pass' && op.runs !== 'model') continue;
    const takesAssets = op.runs === 'pass' || op.requiresAssets;
    const job = { op: op.op, ...(takesAssets && { assetIds: [assetId] }) };
    const prompt = op.runs === 'model' && op.requiresPrompt ? { prompt: 'A boat' } : {};
    const declared = Object.keys(op.parameters.properties);
    if (op.runs !== 'model') {
      for (const name of declared) yield { ...job, parameters: { ...parametersOf(op), [name]: null } };
      continue;
    }
    for (const model of modelsOfCategory(models, op.op).filter(isOffered)) {
      const names = new Set([...declared, ...model.parameters.map((one) => one.key), 'quality', 'style']);
      for (const name of names)
        yield { ...job, ...prompt, model: model.id, parameters: { ...parametersOf(op), [name]: null } };
    }
  }
}

function isOffered({ provider }: { provider: string }): boolean {
  return provider === 'sandbox' || provider === 'local';
}

t.test('a parameter that is null is refused by a dry run, or by nothing', async (t) => {
  let refused = 0;
  for (const job of jobsWithNull()) {
    const what = JSON.stringify(job);
    const dry = await submit(server, key, job, '?dryRun=true');
    const run = await submit(server, key, { ...job, wait: 30 });
    if (dry.status !== 200) {
      refused += 1;
      t.same([run.status, run.json.error?.param], [dry.status, dry.json.error?.param], what);
      continue;
    }
    t.match(run.json.data, { status: 'COMPLETED' }, `${what}: ${JSON.stringify(run.json.data?.items)}`);
  }
  t.ok(refused > 100, `${refused} are refused`);
});
