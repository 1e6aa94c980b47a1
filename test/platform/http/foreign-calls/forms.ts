import { get, post } from '../mistake.ts';
import type { WireCall } from './mending.ts';
import type { ForeignCall, ForeignPlaces } from './places.ts';

const IMAGES = '/api/v1/images';
const LINKS = '/api/v1/delivery-links';
const to = (path: string, call: Partial<WireCall> = {}): WireCall => ({ path, query: {}, ...call });

/** Calls whose work is right, but in a form, at a place or with a credential of other services. */
export function foreignForms({ key, png, assetId, other }: ForeignPlaces): ForeignCall[] {
  const account = (headers: Record<string, string>, query = {}) =>
    to('/api/v1/account', { method: 'GET', query, headers: { authorization: '', ...headers } });
  const base64 = Buffer.from(png).toString('base64');
  const typed = (type: string) => ({ headers: { 'content-type': type } });
  const form = typed('application/x-www-form-urlencoded');
  const flipped = { op: 'flip', assetIds: [assetId] };
  const small = { op: 'resize', parameters: { width: 90 } };
  return [
    ['a key as Bearer', account({ authorization: `Bearer ${key}` }), 'fix'],
    ['a key as Token', account({ authorization: `Token ${key}` }), 'fix'],
    ['a key alone', account({ authorization: key }), 'fix'],
    ['X-Api-Key', account({ 'x-api-key': key }), 'fix'],
    ['a key in the query', account({}, { api_key: key }), 'fix'],
    ['a key by Basic', account({ authorization: `Basic ${btoa(`api:${key}`)}` }), 'fix'],
    ['no key', account({}), 'fix'],
    ['/image/resize', to('/image/resize', { query: { width: 90 } }), 'fix'],
    ['/v1/images/resize', to('/v1/images/resize', { query: { width: 90 } }), 'fix'],
    ['/api/images/resize', to('/api/images/resize', { query: { width: 90 } }), 'fix'],
    ['/images/blur in JSON', to(`${IMAGES}/blur`, { json: { assetId, sigma: 3 } }), 'fix'],
    ['/images/qr', to(`${IMAGES}/qr`), 'fix'],
    [
      '/images/remove-background',
      to(`${IMAGES}/remove-background`, { json: { assetIds: [assetId] } }),
      'fix',
    ],
    ['/convert', to('/convert', { query: { fmt: 'webp' } }), 'fix'],
    ['/transform', to('/transform', { query: { op: 'flip' } }), 'fix'],
    ['/api/v2/images/transform', to('/api/v2/images/transform', { query: { op: 'flip' } }), 'fix'],
    ['/images/transforms', to(`${IMAGES}/transforms`, { query: { op: 'flip' } }), 'fix'],
    ['/upload', to('/upload'), 'fix'],
    ['/models', get('/api/v1/models', {}), 'fix'],
    ['/me', get('/api/v1/me', {}), 'fix'],
    ['/balance', get('/api/v1/balance', {}), 'fix'],
    ['/credits/history', get('/api/v1/credits/history', {}), 'fix'],
    ['/webhooks', get('/api/v1/webhooks', {}), 'fix'],
    ['/signing_keys', get('/api/v1/signing_keys', {}), 'fix'],
    ['an asset by download', get(`/api/v1/assets/${assetId}/download`, {}), 'suggest'],
    ['a transform by GET', get(`${IMAGES}/transform`, { ...small.parameters, op: 'resize', assetId }), 'fix'],
    ['a job by PUT', to('/api/v1/jobs', { method: 'PUT', json: flipped }), 'fix'],
    ['an upload by PUT', to('/api/v1/assets/upload', { method: 'PUT' }), 'fix'],
    ['a link by POST', to(`/api/v1/assets/${assetId}/link`, { json: {} }), 'fix'],
    ['account by POST', to('/api/v1/account', { json: {} }), 'fix'],
    [
      'a form in place of JSON',
      to('/api/v1/jobs', { ...form, text: `op=flip&assetIds[]=${assetId}` }),
      'fix',
    ],
    [
      'a form with a number',
      to(`${IMAGES}/transform`, { ...form, text: `op=resize&width=90&assetId=${assetId}` }),
      'fix',
    ],
    ['curl -d', to('/api/v1/jobs', { ...form, text: JSON.stringify(flipped) }), 'fix'],
    ['JSON as text', to('/api/v1/jobs', { ...typed('text/plain'), text: JSON.stringify(flipped) }), 'fix'],
    [
      'curl -d to a transform',
      to(`${IMAGES}/transform`, { ...form, text: JSON.stringify({ assetId, op: 'flip' }) }),
      'fix',
    ],
    [
      'JSON within JSON',
      to('/api/v1/jobs', { ...typed('application/json'), text: JSON.stringify(JSON.stringify(flipped)) }),
      'fix',
    ],
    [
      'JSON in a list',
      to('/api/v1/jobs', { ...typed('application/json'), text: JSON.stringify([flipped]) }),
      'fix',
    ],
    [
      'JSON of Python',
      to('/api/v1/jobs', {
        ...typed('application/json'),
        text: `{'op': 'flip', 'assetIds': ['${assetId}']}`,
      }),
      'instead',
    ],
    ['base64 in JSON', post(`${IMAGES}/transform`, { image: base64, op: 'flip' }), 'fix'],
    ['base64 as file, with parameters', post(`${IMAGES}/transform`, { file: base64, ...small }), 'fix'],
    [
      'a data: address',
      post(`${IMAGES}/transform`, { imageUrl: `data:image/png;base64,${base64}`, op: 'flip' }),
      'fix',
    ],
    ['a data: address as url', post(`${IMAGES}/metadata`, { url: `data:image/png;base64,${base64}` }), 'fix'],
    ['base64 as the body', to(`${IMAGES}/metadata`, { ...typed('image/png'), text: base64 }), 'fix'],
    ['a part named image', to(`${IMAGES}/transform`, { form: { op: 'flip' }, parts: ['image'] }), 'fix'],
    ['a part named files[]', to(`${IMAGES}/transform`, { form: small, parts: ['files[]'] }), 'fix'],
    [
      'brackets in a form',
      to(`${IMAGES}/transform`, { form: { op: 'resize', 'parameters[width]': 90 } }),
      'fix',
    ],
    ['an asset in the query', to(`${IMAGES}/transform`, { query: { op: 'flip', assetId }, json: {} }), 'fix'],
    [
      'an asset in the query, for a job',
      to(`${IMAGES}/transform`, { query: { op: 'upscale', assetId }, json: {} }),
      'nothing',
    ],
    ['a job in the query', to('/api/v1/jobs', { query: { op: 'flip', assetIds: assetId }, json: {} }), 'fix'],
    ['ids of a transform', post(`${IMAGES}/transform`, { assetIds: [assetId], op: 'flip' }), 'fix'],
    ['the id of an image', post(`${IMAGES}/metadata`, { id: assetId }), 'fix'],
    ['an image as an object', post(`${IMAGES}/metadata`, { image: { assetId } }), 'fix'],
    ['a and b', post(`${IMAGES}/compare`, { a: assetId, b: other }), 'fix'],
    ['two ids in a list', post(`${IMAGES}/compare`, { assetIds: [assetId, other] }), 'fix'],
    ['two images in a list', post(`${IMAGES}/compare`, { images: [assetId, other] }), 'fix'],
    ['file1 and file2', to(`${IMAGES}/compare`, { parts: ['file1', 'file2'] }), 'fix'],
    ['file and file2', to(`${IMAGES}/compare`, { parts: ['file', 'file2'] }), 'fix'],
    ['assetId1 and assetId2', post(`${IMAGES}/compare`, { assetId1: assetId, assetId2: other }), 'fix'],
    ['the address of an asset', post(`${IMAGES}/metadata`, { url: `asset://${assetId}` }), 'fix'],
    ['/images/generations', to(`${IMAGES}/generations`, { json: { prompt: 'A boat' } }), 'fix'],
    ['/images/edits', to(`${IMAGES}/edits`, { json: { assetIds: [assetId], prompt: 'Red' } }), 'fix'],
    ['/images/ocr', to(`${IMAGES}/ocr`), 'fix'],
    ['compareTo', post(`${IMAGES}/compare`, { assetId, compareTo: other }), 'fix'],
    ['first and second', post(`${IMAGES}/compare`, { first: assetId, second: other }), 'fix'],
    ['sigma of an address', post(LINKS, { assetId, op: 'blur', sigma: 3 }), 'fix'],
    ['width of an address', post(LINKS, { assetId, op: 'resize', width: 90 }), 'fix'],
    ['width of one of several addresses', post(LINKS, { links: [{ assetId, op: 'resize', w: 90 }] }), 'fix'],
    ['the ttl of an address', post(LINKS, { assetId, ...small, ttl: 600 }), 'fix'],
    ['the end of an address in hours', post(LINKS, { assetId, ...small, expiresInHours: 2 }), 'fix'],
    ['the image of an address', post(LINKS, { image_id: assetId, ...small }), 'fix'],
    ['widths in one text', post(LINKS, { assetId, widths: '90 180' }), 'fix'],
    ['widths with their unit', post(LINKS, { assetId, widths: '90w, 180w' }), 'fix'],
    ['one width', post(LINKS, { assetId, widths: 90 }), 'fix'],
    ['descending widths', post(LINKS, { assetId, widths: [180, 90] }), 'fix'],
    ['a srcset', post(LINKS, { assetId, srcset: [90, 180] }), 'fix'],
    ['sizes of an address', post(LINKS, { assetId, ...small, sizes: [90, 180] }), 'fix'],
    ['transformations of an address', post(LINKS, { assetId, transformations: [{ op: 'flip' }] }), 'fix'],
  ];
}
