// needs: server, clients
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import {
  heyApiClient,
  openapiTypescriptClient,
  pythonClient,
  SILENT,
} from '../../support/services/client-generators.ts';

const server = await startServer(t);
const { json: document } = await server.call('//openapi.json');

const TYPES = `
import type { components, paths } from './interface.js';
type Transform = paths['/api/v1/images/transform']['post'];
type Query = NonNullable<Transform['parameters']['query']>;
type Body = NonNullable<Transform['requestBody']>['content']['application/json'];

export const right: Query = { op: 'resize', width: 300, format: 'webp' };
export const rightBody: Body = { assetId: 'ast_1', op: 'resize', parameters: { width: 300, fit: 'cover' } };
// @ts-expect-error a width is a number
export const wrong: Query = { op: 'resize', width: 'wide' };
// @ts-expect-error there is no such op
export const wrongOp: Query = { op: 'rezise' };
// @ts-expect-error a width is a number in JSON too
export const wrongBody: Body = { assetId: 'ast_1', op: 'resize', parameters: { width: 'wide' } };
// @ts-expect-error resize has no radius
export const wrongName: Body = { assetId: 'ast_1', op: 'resize', parameters: { radius: 3 } };

declare const picture: Blob;
type Upload = NonNullable<paths['/api/v1/assets/upload']['post']['requestBody']>['content'];
export const sent: Upload['multipart/form-data'] = { file: picture };
type Answer = paths['/api/v1/jobs']['post']['responses'][200]['content']['application/json']['data'];
export const priceOf = (answer: Answer) => (answer.object === 'job' ? answer.actualCredits : answer.credits);
// @ts-expect-error an estimate has no status
export const statusOf = (answer: Answer) => answer.status;
export type Heard = components['schemas']['JobCompletedEvent']['data']['creditsCharged'];

export function advice(code: components['schemas']['ErrorCode']): string {
  // @ts-expect-error no such code is in the closed set
  return code === 'not_a_code' ? 'never' : code;
}
`;

const PLANTED = `
export const wrong: number = 'wide';
`;

const CALLS = `
import createClient from 'openapi-fetch';
import type { paths } from './interface.js';

const [, , baseUrl = '', key = '', assetId = ''] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { Authorization: 'ApiKey ' + key } });

const made = await client.POST('/api/v1/jobs', { body: { op: 'grayscale', assetIds: [assetId] } });
if (made.data === undefined) throw new Error(made.error.error.message);
const job = made.data.data;
if (job.object !== 'job') throw new Error('a submit answered ' + job.object);
const path = { jobId: job.id };
const read = await client.GET('/api/v1/jobs/{jobId}', { params: { path, query: { wait: 60 } } });
const refused = await client.GET('/api/v1/jobs/{jobId}', { params: { path: { jobId: 'job_0' } } });
const results = read.data?.data.items?.map((item) => item.resultAssetId);
console.log(JSON.stringify({ status: read.data?.data.status, results, refusal: refused.error?.error.code }));
`;

t.test('a client made by openapi-typescript tells right from wrong, and makes calls', async (t) => {
  const client = await openapiTypescriptClient(t, document);
  if (client === null) {
    t.plan(0, 'openapi-typescript could not be installed');
    return;
  }
  const { code, stdout } = await client.compile({ types: TYPES, calls: CALLS, planted: PLANTED });
  t.match({ code, stdout }, { code: 2, stdout: /^planted\.ts\(2,.*TS2322/ }, 'an error of types is noticed');
  t.equal(stdout.match(/error TS/g)?.length, 1, `and there is no other one: ${stdout}`);
  const { key } = await server.account();
  const asset = await server.call('/assets/upload', { key, body: await redSquare(), type: 'image/png' });
  const calls = await client.start('calls', [server.url, key, asset.json.data.id]);
  t.match(calls, { code: 0, stderr: '' });
  const said = JSON.parse(calls.stdout);
  t.match(said, { status: 'COMPLETED', results: [/^ast_/], refusal: 'job_not_found' });
});

const PICTURES = `
import { client } from './client/client.gen.js';
import { createJob, transformImage, uploadAsset } from './client/sdk.gen.js';

const [, , baseUrl = '', key = '', bytes = ''] = process.argv;
client.setConfig({ baseUrl, headers: { Authorization: 'ApiKey ' + key } });
const file = new Blob([Buffer.from(bytes, 'base64')], { type: 'image/png' });

async function main(): Promise<void> {
  const small = await transformImage({ query: { op: 'resize', width: 4, format: 'png' }, body: { file } });
  const picture: Blob | File | undefined = small.data;
  if (picture === undefined) throw new Error(JSON.stringify(small.error));
  const upload = await uploadAsset({ body: { file } });
  const id = upload.data?.data.id;
  if (id === undefined) throw new Error(JSON.stringify(upload.error));
  const priced = await createJob({ query: { dryRun: true }, body: { op: 'grayscale', assetIds: [id] } });
  const answer = priced.data?.data;
  const runs = answer?.object === 'estimate' ? answer.totalItems : answer?.status;
  console.log(JSON.stringify({ bytes: Buffer.from(await picture.arrayBuffer()).toString('base64'), id, runs }));
}
void main();
`;

t.test('a client made by hey-api of ?form=multipart sends and receives pictures', async (t) => {
  const { json: form } = await server.call('//openapi.json?form=multipart');
  const client = await heyApiClient(t, form);
  if (client === null) {
    t.plan(0, 'hey-api could not be installed');
    return;
  }
  t.same(await client.compile({ pictures: PICTURES }), SILENT);
  const { key } = await server.account();
  const png = await redSquare();
  const pictures = await client.start('pictures', [server.url, key, Buffer.from(png).toString('base64')]);
  t.match(pictures, { code: 0, stderr: '' });
  const told = JSON.parse(pictures.stdout);
  t.match(await sharp(Buffer.from(told.bytes, 'base64')).metadata(), { width: 4, format: 'png' });
  t.match(told, { id: /^ast_/, runs: 1 });
});

const PYTHON = `
import io, json, sys
from darkroom import AuthenticatedClient
from darkroom.api.assets import read_asset_content, upload_asset
from darkroom.api.images import transform_image
from darkroom.models.transform_image_body import TransformImageBody
from darkroom.models.transform_image_op import TransformImageOp
from darkroom.models.upload_asset_body import UploadAssetBody
from darkroom.types import File

_, url, key, given, small = sys.argv
client = AuthenticatedClient(base_url=url, token=key, prefix="ApiKey")
picture = lambda: File(payload=open(given, "rb"), file_name="red.png", mime_type="image/png")

made = transform_image.sync(
    client=client, body=TransformImageBody(file=picture()), op=TransformImageOp.RESIZE, width=4,
    format_="webp",
)
with open(small, "wb") as file:
    file.write(made.payload.read())
asset = upload_asset.sync(client=client, body=UploadAssetBody(file=picture())).data
content = read_asset_content.sync(client=client, asset_id=asset.id).payload.read()
refused = transform_image.sync(client=client, body=TransformImageBody(file=picture()), op=TransformImageOp.RESIZE)
print(json.dumps({
    "id": asset.id, "same": content == open(given, "rb").read(),
    "refused": [refused.error.code, refused.error.param],
}))
`;

t.test('a client made by openapi-python-client uploads, transforms and saves a picture', async (t) => {
  const { json: form } = await server.call('//openapi.json?form=multipart');
  const client = await pythonClient(t, form);
  if (client === null) {
    t.plan(0, 'openapi-python-client could not be installed');
    return;
  }
  const left = client.findings.match(/^WARNING.*$/gm) ?? [];
  t.match(left, [/PUT .*assetId.*content/], 'only the raw body of a signed upload url is left out');
  t.equal(left.length, 1);
  const { key } = await server.account();
  const folder = t.testdir({ 'red.png': Buffer.from(await redSquare()) });
  const [given, small] = [join(folder, 'red.png'), join(folder, 'small.webp')];
  const ran = await client.run(PYTHON, [server.url, key, given, small]);
  t.match(ran, { code: 0, stderr: '' });
  t.match(JSON.parse(ran.stdout), { id: /^ast_/, same: true, refused: ['invalid_param', 'width'] });
  t.match(await sharp(small).metadata(), { width: 4, format: 'webp' });
  const { data } = await sharp(small).raw().toBuffer({ resolveWithObject: true });
  t.ok((data[0] ?? 0) > 240 && (data[1] ?? 255) < 20, 'it is red');
});
