// needs: nothing
import t from 'tap';
import { type CallWarning, warningPerName, warningsText } from '../../../src/platform/http/hooks/warnings.ts';

t.test('warnings are listed once each, their names percent-encoded', async (t) => {
  const warnings: CallWarning[] = [
    { code: 'alpha_lost' },
    { code: 'unknown_variable', name: 'größe, *a' },
    { code: 'alpha_lost' },
  ];
  t.equal(warningsText(warnings), 'alpha_lost,unknown_variable:gr%C3%B6%C3%9Fe%2C%20%2Aa');
});

t.test('a long list is cut at a whole entry, and the rest is counted', async (t) => {
  const warnings = warningPerName(
    'empty_variable',
    Array.from({ length: 300 }, (_, index) => `v${index}`),
  );
  const text = warningsText(warnings);
  t.ok(text.length <= 1000, `${text.length} characters`);
  const entries = text.split(',');
  t.equal(entries.pop(), `more:${300 - entries.length}`);
  t.ok(entries.length > 40);
  t.same(
    entries,
    warnings.slice(0, entries.length).map(({ name }) => `empty_variable:${name}`),
  );
  t.equal(warningsText([{ code: 'missing_asset', name: 'x'.repeat(2000) }]), 'more:1');
});
