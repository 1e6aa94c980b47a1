// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import { pictureOf, refusalOf } from './calls.ts';

const server = await sharedServer();
const { key } = await server.account();
const render = (json: object, as = key) => server.call('/images/render', { key: as, json });

t.test('a page that no template stores is drawn from the html of the call', async (t) => {
  const { json: before } = await server.call('/templates?filter=user', { key });
  const uploaded = await server.call('/assets/upload', { key, body: await redSquare(), type: 'image/png' });
  const answer = await render({
    html: '<p>{{ word }}</p><img alt="" src="asset://{{ asset }}">',
    css: 'body { background: {{ colour }} } p { display: none } img { position: absolute; left: 50px; top: 0 }',
    width: 120,
    height: 80,
    data: { asset: uploaded.json.data.id, colour: 'blue', titel: 'x' },
    format: 'webp',
  });
  const picture = await pictureOf(answer);
  t.same([picture.width, picture.height], [120, 80]);
  t.same([answer.headers.get('x-service-width'), answer.headers.get('x-service-height')], ['120', '80']);
  t.equal((await sharp(answer.bytes).metadata()).format, 'webp');
  const red = picture.at(60, 10);
  t.ok(red[0] > 240 && red[2] < 20, `the asset: ${red}`);
  const blue = picture.at(10, 70);
  t.ok(blue[2] > 240 && blue[0] < 20, `the css: ${blue}`);
  t.equal(answer.headers.get('x-service-warnings'), 'unknown_variable:titel,empty_variable:word');
  t.match(answer.headers.get('server-timing'), /process;dur=/);
  t.same((await server.call('/templates?filter=user', { key })).json.data, before.data, 'nothing is stored');
});

t.test('the page of a call has the walls of a stored one', async (t) => {
  const html = `<script>document.body.style.background = 'lime'</script>
    <img alt="" src="https://example.com/a.png" onerror="document.body.style.background='lime'">
    <body style="margin:0;background:red">`;
  const answer = await render({ html, width: 20, height: 20 });
  t.same((await pictureOf(answer)).at(10, 10), [255, 0, 0, 255], 'no script ran');
  t.equal(answer.headers.get('x-service-warnings'), 'blocked_resource:https');
});

t.test('the page of a call is counted like that of a template', async (t) => {
  const account = await server.account();
  t.equal((await render({ html: 'x', width: 10, height: 10 }, account.key)).status, 200);
  t.equal((await render({ html: 'x', width: 10 }, account.key)).status, 400);
  const { groups } = (await server.call('/usage?groupBy=op', { key: account.key })).json.data;
  t.same(groups, [{ key: 'render_template', jobs: 0, credits: 0, items: 0, sync: 1 }]);
});

t.test('what a call says of its page is refused by its field', async (t) => {
  const size = { width: 10, height: 10 };
  const rows: [param: string, json: object, message: RegExp][] = [
    ['html', { templateId: 'social-card', html: 'x', ...size }, /exclude/],
    ['html', { html: '', ...size }, /html/],
    ['html', { html: 7, ...size }, /html/],
    ['html', { html: 'é'.repeat(128 * 1024 + 1), ...size }, /262146 bytes.*262144/],
    ['css', { html: 'x', css: 'x'.repeat(128 * 1024 + 1), ...size }, /131072/],
    ['css', { templateId: 'social-card', css: 'p{}' }, /goes with html/],
    ['width', { templateId: 'social-card', width: 10 }, /goes with html/],
    ['height', { templateId: 'social-card', height: 10 }, /goes with html/],
    ['width', { html: 'x', height: 10 }, /missing/],
    ['height', { html: 'x', width: 10 }, /missing/],
    ['width', { html: 'x', width: 0, height: 10 }, /1/],
    ['height', { html: 'x', width: 10, height: 4097 }, /4096/],
    ['width', { html: 'x', width: 1.5, height: 10 }, /width/],
    ['scale', { html: 'x', width: 3000, height: 10, scale: 2 }, /4096/],
    ['data', { html: 'x', ...size, data: 'row' }, /data/],
    ['templateId', size, /or send html/],
    ['variables', { html: 'x', ...size, variables: [] }, /not a field here/],
  ];
  for (const [param, json, message] of rows) {
    const refusal = refusalOf(await render(json));
    t.match(
      refusal,
      { status: 400, code: 'invalid_param', param, message },
      JSON.stringify(json).slice(0, 80),
    );
  }
});

t.test('a built-in answers to its short name, unless the account has a template of that slug', async (t) => {
  const size = async (templateId: string) => {
    const { width, height } = await pictureOf(await render({ templateId, data: { quote: 'Less is more.' } }));
    return [width, height];
  };
  t.same(await size('quote'), [1080, 1080]);
  t.same(await size('quote@1'), [1080, 1080]);
  t.equal((await server.call('/templates/quote', { key })).json.data.id, 'builtin-template-quote');
  const wrong = refusalOf(await render({ templateId: 'quote@2' }));
  t.match(wrong, { status: 404, param: 'templateId', details: { current: 1 } });
  const json = { name: 'Own', slug: 'quote', html: 'x', width: 30, height: 20 };
  await server.call('/templates', { key, json });
  t.same(await size('quote'), [30, 20]);
  t.same(await size('builtin-template-quote'), [1080, 1080]);
});

t.test('a job takes the short name of a built-in too', async (t) => {
  const body = { op: 'render_template', templateId: 'certificate', items: [{ recipient: 'Ada' }] };
  const { status, json } = await server.call('/jobs?dryRun=true', { key, json: body });
  t.equal(status, 200, JSON.stringify(json));
});

t.test('a name that no template has is answered with the nearest', async (t) => {
  const json = { name: 'Invoice', slug: 'monthly-invoice', html: 'x', width: 30, height: 20 };
  await server.call('/templates', { key, json });
  const rows: [sent: string, meant: string | null][] = [
    ['social-crad', 'social-card'],
    ['builtin-social-card', 'builtin-template-social-card'],
    ['Social_Card@1', 'social-card'],
    ['monthly-invioce', 'monthly-invoice'],
    ['something-else-entirely', null],
  ];
  for (const [templateId, meant] of rows) {
    const refusal = refusalOf(await render({ templateId, data: {} }));
    t.match(refusal, { status: 404, code: 'not_found', param: 'templateId' }, templateId);
    const hint = /Did you mean (.*)\?$/.exec(refusal.message)?.[1] ?? null;
    t.equal(hint, meant, templateId);
  }
  const stranger = await server.account();
  const theirs = refusalOf(await render({ templateId: 'monthly-invioce' }, stranger.key));
  t.notMatch(theirs.message, /invoice\?/, "another account's names stay its own");
  const put = await server.call('/templates/social-card', { method: 'PUT', key, json: { name: 'Mine' } });
  t.match(refusalOf(put), { status: 404, message: /Did you mean/ });
});

t.test('a variable that is declared optional may stay empty without a warning', async (t) => {
  const page = { name: 'Card', html: '{{ title }}{{ subtitle }}{{ note }}', width: 40, height: 20 };
  const variables = ['title', { name: 'subtitle', optional: true }, { name: 'note', optional: false }];
  const made = (await server.call('/templates', { key, json: { ...page, variables } })).json.data;
  t.same(made.variables, variables);
  const path = `/templates/${made.id}`;
  t.same((await server.call(path, { key })).json.data.variables, variables);
  const warnings = async (templateId: string, data = {}) =>
    (await render({ templateId, data })).headers.get('x-service-warnings');
  t.equal(await warnings(made.id), 'empty_variable:title,empty_variable:note');
  t.equal(await warnings(made.id, { title: 'a', note: 'b' }), null);

  const changed = await server.call(path, { method: 'PUT', key, json: { html: `${page.html}{{ more }}` } });
  t.same(changed.json.data.variables, [...variables, 'more'], 'a declaration outlives a change of the html');
  const json = { variables: ['title', 'subtitle', 'note', { name: 'more', optional: true }] };
  await server.call(path, { method: 'PUT', key, json });
  t.equal(await warnings(made.id, { title: 'a' }), 'empty_variable:subtitle,empty_variable:note');
  t.equal(await warnings(`${made.id}@1`, { title: 'a', note: 'b' }), null, 'each version has its own');
});

t.test('the built-ins warn of what they need alone', async (t) => {
  const warnings = async (templateId: string, data = {}) =>
    (await render({ templateId, data })).headers.get('x-service-warnings');
  t.equal(await warnings('social-card', { title: 'Hello' }), null);
  t.equal(await warnings('contact-sheet', { image1: 'data:,' }), null);
  t.equal(await warnings('product-banner', {}), 'empty_variable:name');
});
