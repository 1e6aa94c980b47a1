// needs: nothing
import t from 'tap';
import { assetIdsIn, withAssetScheme } from '../../../src/product/transforms/page-assets.ts';

const PUBLIC = 'https://images.example.com/';
const ID = 'ast_0VyQ3k1ZabcdefGHIJKLMNOP';

t.test('assets are found by scheme and by address, each once', async (t) => {
  const html = `<img src="asset://ast_1"><img src='https://images.example.com/api/v1/assets/${ID}/content'>
    <style>a{background:url(asset://ast_1)}b{background:url(https://images.example.com/api/v1/assets/ast_2/content?expires=1&amp;signature=a-b_c)}</style>`;
  t.same(assetIdsIn(withAssetScheme(html, PUBLIC)), ['ast_1', ID, 'ast_2']);
});

t.test('an address of an asset is told in the one form that workers know', async (t) => {
  const cases: [string, string][] = [
    ['https://images.example.com/api/v1/assets/ast_1/content', 'asset://ast_1'],
    ['https://images.example.com/api/v1/assets/ast_1/content?download=true', 'asset://ast_1'],
    ['https://images.example.com/api/v1/assets/ast_1', 'asset://ast_1'],
  ];
  for (const [address, told] of cases) {
    t.equal(withAssetScheme(`<img src="${address}" alt="x">`, PUBLIC), `<img src="${told}" alt="x">`);
  }
});

t.test('other addresses stay as they are', async (t) => {
  for (const address of [
    'https://images.example.com.evil.example/api/v1/assets/ast_1/content',
    'https://imagesXexample.com/api/v1/assets/ast_1/content',
    'https://images.example.com/api/v1/assets/ast_1/link',
    'https://images.example.com/api/v1/assets/',
    'http://images.example.com/api/v1/assets/ast_1/content',
    'asset://job_1',
  ]) {
    t.same(assetIdsIn(withAssetScheme(`<img src="${address}">`, PUBLIC)), [], address);
    t.equal(withAssetScheme(address, PUBLIC), address);
  }
});
