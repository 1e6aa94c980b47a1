// needs: server
import sharp from 'sharp';
import t from 'tap';
import { openDelivering } from './delivering.ts';

const { server, account, assetId, get, runs } = await openDelivering(t);
const sign = (json: object) => server.call('/delivery-links', { key: account.key, json });
const pathOf = (url: string) => url.slice(server.url.length);
const sizeOf = async (bytes: Buffer) => {
  const { width, height, format } = await sharp(bytes).metadata();
  return [width, height, format];
};

t.test('one link is an address and an element with the size of the picture', async (t) => {
  const before = await runs();
  const { status, json } = await sign({ assetId, op: 'resize', parameters: { width: 100 }, format: 'webp' });
  t.equal(status, 200, JSON.stringify(json));
  const { url, html, ...rest } = json.data;
  t.same(rest, {});
  t.equal(html, `<img src="${url}" width="100" height="50" loading="lazy" alt="">`);
  t.equal(await runs(), before, 'nothing is made yet');
  t.same(await sizeOf((await get(pathOf(url))).bytes), [100, 50, 'webp']);
});

t.test('steps, values of every kind and presets survive the way into an address', async (t) => {
  for (const [work, expected] of [
    [
      {
        steps: [
          { op: 'resize', parameters: { width: 100 } },
          { op: 'rotate', parameters: { angle: 90 } },
        ],
      },
      [50, 100],
    ],
    [{ op: 'pad', parameters: { all: 10, background: 'rgba(0, 128, 0, 0.5)' } }, [420, 220]],
    [{ op: 'flip', parameters: {} }, [400, 200]],
    [{ preset: 'builtin-thumbnail-set' }, [320, 320]],
    [{ steps: Array.from({ length: 6 }, () => ({ op: 'rotate', parameters: { angle: 90 } })) }, [400, 200]],
  ] as const) {
    const { json } = await sign({ assetId, ...work, format: 'png' });
    t.ok(json.data, JSON.stringify(json));
    const { status, bytes } = await get(pathOf(json.data.url));
    t.equal(status, 200, json.data.url);
    t.same((await sizeOf(bytes)).slice(0, 2), expected, json.data.url);
  }
});

t.test('widths make a family, whose every rung is a picture', async (t) => {
  const work = { assetId, op: 'grayscale', widths: [50, 100, 200], format: 'png' };
  const { json } = await sign(work);
  const { url, srcset, sizes, html, preset } = json.data;
  t.match(preset, /^delivery-[0-9a-f]{12}@1$/);
  const rungs = srcset.split(', ').map((rung: string) => rung.split(' '));
  t.same(
    rungs.map(([, width]: string[]) => width),
    ['50w', '100w', '200w'],
  );
  for (const [address, width] of rungs)
    t.equal((await sizeOf((await get(pathOf(address))).bytes))[0], Number.parseInt(width, 10));
  t.equal(url, rungs[2][0]);
  t.match(html, ` srcset="${srcset}" sizes="${sizes}" width="200" height="100" loading="lazy"`);
  t.equal((await sign(work)).json.data.preset, preset, 'the same preset serves the same work');
});

t.test('widths without other work are a resize to each of them', async (t) => {
  for (const work of [{}, { op: 'resize' }, { op: 'resize', parameters: { fit: 'cover' } }]) {
    const { json } = await sign({ assetId, ...work, widths: [50, 100], format: 'png' });
    const rungs = json.data.srcset.split(', ').map((rung: string) => rung.split(' ')[0]);
    const made = await Promise.all(rungs.map(async (url: string) => sizeOf((await get(pathOf(url))).bytes)));
    t.same(made, [
      [50, 25, 'png'],
      [100, 50, 'png'],
    ]);
  }
});

t.test('a family promises no width that its picture does not have', async (t) => {
  const url = 'https://example.com/a.jpg';
  const cropped = { steps: [{ op: 'crop', parameters: { x: 0, y: 0, width: 250, height: 200 } }] };
  const turned = { steps: [{ op: 'rotate', parameters: { angle: 90 } }] };
  for (const [source, work, widths, promised] of [
    [{ assetId }, { op: 'grayscale' }, [100, 640, 2_000], [100, 400]],
    [{ assetId }, { op: 'grayscale' }, [640, 1_280], [400]],
    [{ assetId }, { op: 'grayscale' }, [100, 400, 800], [100, 400]],
    [{ assetId }, { op: 'grayscale' }, [100, 399], [100, 399]],
    [{ assetId }, cropped, [100, 300, 400], [100, 250]],
    [{ assetId }, turned, [100, 300, 400], [100, 200]],
    [{ url }, { op: 'grayscale' }, [100, 640, 2_000], [100, 640, 2_000]],
  ] as const) {
    const about = JSON.stringify([source, work, widths]);
    const { data } = (await sign({ ...source, ...work, widths, format: 'png' })).json;
    const rungs: string[][] = data.srcset.split(', ').map((rung: string) => rung.split(' '));
    t.same(
      rungs.map(([, width = '']) => width),
      promised.map((width) => `${width}w`),
      about,
    );
    const widest = promised.at(-1);
    t.equal(data.sizes, `(max-width: ${widest}px) 100vw, ${widest}px`, about);
    if ('url' in source) continue;
    for (const [address = '', width = ''] of rungs)
      t.equal((await sizeOf((await get(pathOf(address))).bytes))[0], Number.parseInt(width, 10), about);
    const largest = pathOf(data.url).replace(/\/\d+\.png/, `/${widths.at(-1)}.png`);
    t.equal((await get(largest)).status, 200, 'the rungs that are left out are served too');
  }
});

t.test('a hundred links are one call, in order', async (t) => {
  const links = Array.from({ length: 100 }, (_, index) => ({
    assetId,
    op: 'resize',
    parameters: { width: index + 1 },
  }));
  const { status, json } = await sign({ links });
  t.equal(status, 200);
  t.equal(json.data.links.length, 100);
  t.match(json.data.links[41].url, /resize:width=42\//);
  t.equal((await sign({ links: [...links, ...links] })).status, 400);
});

t.test('an account without a key gets one', async (t) => {
  const fresh = await server.account();
  const call = { key: fresh.key, json: { url: 'https://example.com/a.jpg', op: 'grayscale' } };
  const first = await server.call('/delivery-links', call);
  t.match(
    first.json.data.url,
    /\/d\/sgk_\w{24}\/[\w-]{32}\/grayscale\/url:aHR0cHM6Ly9leGFtcGxlLmNvbS9hLmpwZw$/,
  );
  await server.call('/delivery-links', call);
  t.equal((await server.call('/signing-keys', { key: fresh.key })).json.data.length, 1);
});

t.test('each fault names its field', async (t) => {
  for (const [sent, param] of [
    [{ op: 'grayscale' }, 'assetId'],
    [{ assetId, url: 'https://example.com/a.png', op: 'grayscale' }, 'url'],
    [{ url: 'ftp://example.com/a.png', op: 'grayscale' }, 'url'],
    [{ assetId }, 'op'],
    [{ assetId, op: 'grayscale', preset: 'x' }, 'preset'],
    [{ assetId, op: 'resize', parameters: { widht: 1 } }, 'parameters.widht'],
    [{ assetId, steps: [{ op: 'upscale' }] }, 'steps[0].op'],
    [{ assetId, op: 'upscale' }, 'op'],
    [{ assetId, preset: 'x', parameters: {} }, 'parameters'],
    [{ assetId, preset: 'absent' }, 'preset'],
    [{ assetId: 'ast_0', op: 'grayscale' }, 'assetId'],
    [{ assetId, op: 'grayscale', widths: [2, 1] }, 'widths'],
    [
      {
        links: [
          { assetId, op: 'grayscale' },
          { assetId, op: 'nothing' },
        ],
      },
      'links[1].op',
    ],
    [{ links: [{ assetId: 'ast_0', op: 'grayscale' }] }, 'links[0].assetId'],
    [{ links: [{ assetId, op: 'grayscale' }], assetId }, 'assetId'],
  ] as const) {
    const { status, json } = await sign(sent);
    t.ok([400, 404].includes(status), JSON.stringify(sent));
    t.equal(json.error?.param, param, JSON.stringify([sent, json.error]));
  }
});

t.test('what is certain to be a mistake has its correction, in a list of links too', async (t) => {
  const right = { assetId, op: 'resize', parameters: { width: 50 } };
  const wrong = { assetId, op: 'resize', parameters: { widht: 50 } };
  const fixOf = async (body: object) => (await sign(body)).json.error.details.fix;
  t.same(await fixOf(wrong), [{ param: 'parameters.widht', rename: 'parameters.width' }]);
  t.same(await fixOf({ links: [right, wrong] }), [
    { param: 'links[1].parameters.widht', rename: 'links[1].parameters.width' },
  ]);
  const before = (await server.call('/presets', { key: account.key })).json.data.length;
  const steps = [{ op: 'rezise', parameters: { width: 50 } }];
  t.same(await fixOf({ assetId, steps, widths: [16, 32] }), [{ param: 'steps[0].op', replace: 'resize' }]);
  const { data } = (await server.call('/presets', { key: account.key })).json;
  t.equal(data.length, before, 'a check saves no preset');
});
