// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { rasterOf, refusalOf } from './calls.ts';

const server = await sharedServer();
const { key } = await server.account();
const { json: made } = await server.call('/templates', {
  key,
  json: {
    name: 'Lines',
    width: 200,
    height: 100,
    // A line of half a pixel.
    html: '<svg width="200" height="100" style="display:block"><path fill="#f00" d="M50.5 0h.5v100h-.5z"/></svg>',
  },
});
const templateId = made.data.id;
const render = (fields: object) => server.call('/images/render', { key, json: { templateId, ...fields } });

t.test('a page is written in the format that is asked for', async (t) => {
  for (const format of ['png', 'jpeg', 'webp', 'avif']) {
    const { status, headers, bytes, json } = await render({ format });
    t.equal(status, 200, JSON.stringify(json));
    t.equal(headers.get('content-type'), `image/${format}`);
    const { format: real, width, height } = await sharp(bytes).metadata();
    t.same([real, width, height], [format === 'avif' ? 'heif' : format, 200, 100]);
    t.same([headers.get('x-service-width'), headers.get('x-service-height')], ['200', '100']);
    const corner = (await rasterOf(bytes)).at(5, 5);
    t.equal(corner[3], format === 'jpeg' ? 255 : 0, `${format}: nothing is painted there`);
  }
  const templateOfType = 'builtin-template-social-card';
  const sized = async (quality: number) =>
    (await render({ templateId: templateOfType, data: { title: 'Hello' }, format: 'webp', quality })).bytes
      .length;
  t.ok((await sized(20)) < (await sized(95)), 'a lower quality makes a smaller file');
});

t.test('a scaled page is drawn finer, not enlarged', async (t) => {
  const { bytes, headers } = await render({ scale: 2 });
  const picture = await rasterOf(bytes);
  t.same([picture.width, picture.height], [400, 200]);
  t.same([headers.get('x-service-width'), headers.get('x-service-height')], ['400', '200']);
  t.same(picture.at(101, 100), [255, 0, 0, 255], 'half a pixel of the page is one of its own');
  t.equal(picture.at(100, 100)[3], 0, 'beside which nothing is');
  t.equal(picture.at(102, 100)[3], 0);
  const finer = await rasterOf((await render({ scale: 1.5 })).bytes);
  t.same([finer.width, finer.height], [300, 150]);
  const again = await rasterOf((await render({})).bytes);
  t.same([again.width, again.height], [200, 100], 'and the next page has its own size again');
});

t.test('a wrong field of the output is refused by its name', async (t) => {
  const wrong: [fields: object, param: string][] = [
    [{ format: 'gif' }, 'format'],
    [{ quality: 80 }, 'quality'],
    [{ format: 'jpeg', quality: 101 }, 'quality'],
    [{ scale: 0.5 }, 'scale'],
    [{ scale: 3.5 }, 'scale'],
    [{ scale: '2' }, 'scale'],
    [{ width: 300 }, 'width'],
  ];
  for (const [fields, param] of wrong)
    t.match(
      refusalOf(await render(fields)),
      { status: 400, code: 'invalid_param', param },
      JSON.stringify(fields),
    );
  const { json } = await server.call('/templates', {
    key,
    json: { name: 'Wide', width: 2000, height: 10, html: '<i></i>' },
  });
  t.match(refusalOf(await render({ templateId: json.data.id, scale: 2.1 })), {
    status: 400,
    param: 'scale',
    details: { limit: 4096 },
  });
});

t.test('a picture is answered by a signed link where response=url asks for one', async (t) => {
  const json = { templateId, format: 'webp' };
  const { status, json: answer } = await server.call('/images/render?response=url', { key, json });
  t.equal(status, 200);
  const { url, ...facts } = answer.data;
  t.match(facts, { contentType: 'image/webp', width: 200, height: 100, expiresInSeconds: 300 });
  const read = await fetch(url);
  const bytes = Buffer.from(await read.arrayBuffer());
  t.same([read.status, bytes.length], [200, facts.bytes]);
  t.same((await sharp(bytes).metadata()).width, 200);
});
