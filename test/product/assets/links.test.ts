// needs: server
import t from 'tap';
import { picture, refused, sharedGallery } from './gallery-harness.ts';

t.test('a link reads the content without a credential until it expires', async (t) => {
  const { newAccount, clock, follow } = await sharedGallery();
  const { call, stored } = await newAccount();
  const bytes = await picture();
  const id = await stored(bytes);
  const rows: Array<[query: string, seconds: number]> = [
    ['', 300],
    ['?expiresInSeconds=60', 60],
    ['?expiresInSeconds=604800', 604_800],
    ['?expiresIn=60', 60],
    ['?expiresIn=604800', 604_800],
  ];
  for (const [query, seconds] of rows) {
    const { data } = (await call(`/assets/${id}/link${query}`)).json;
    t.equal(Date.parse(data.expiresAt), clock.ms + seconds * 1000);
    t.same((await follow(data.url)).bytes, Buffer.from(bytes), query);
    t.equal((await follow(data.url, { headers: { authorization: 'ApiKey old' } })).status, 200);
    clock.ms += seconds * 1000 - 1000;
    t.equal((await follow(`${data.url}&download=true`)).status, 200, 'a second before');
    clock.ms += 1000;
    const late = await follow(data.url);
    refused(t, late, 403, 'forbidden');
    t.equal(late.json.error.details.reason, 'link_expired');
  }
  for (const expiresIn of ['59', '604801', '1.5', 'soon', '']) {
    for (const name of ['expiresInSeconds', 'expiresIn']) {
      const answer = await call(`/assets/${id}/link?${name}=${expiresIn}`);
      refused(t, answer, 400, 'invalid_param', name, expiresIn);
    }
  }
});

t.test('an altered link is refused, and one of a deleted asset finds nothing', async (t) => {
  const { newAccount, follow } = await sharedGallery();
  const { call, stored } = await newAccount();
  const stranger = await newAccount();
  const [id, other] = [await stored(), await stored()];
  const { url } = (await call(`/assets/${id}/link`)).json.data;
  const altered = [
    url.replace(id, other),
    url.replace(id, await stranger.stored()),
    url.replace(/owner=\w+/, `owner=${stranger.id}`),
    url.replace(/expires=\d+/, 'expires=9999999999'),
    url.replace(/signature=/, 'signature=x'),
    url.replace(/&signature=.*/, ''),
  ];
  for (const link of altered) {
    const answer = await follow(link);
    refused(t, answer, 403, 'forbidden', undefined, link);
    t.equal(answer.json.error.details.reason, 'link_invalid');
  }
  refused(t, await follow(url, { method: 'PUT', body: await picture() }), 403, 'forbidden');
  refused(t, await follow(url.replace(/\?.*/, '')), 401, 'unauthorized', 'Authorization');
  await call(`/assets/${id}`, { method: 'DELETE' });
  refused(t, await follow(url), 404, 'asset_not_found', 'assetId');
});
