// needs: nothing
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { v8HeapOptions } from '../../../src/host/processes/memory.ts';

/** Megabytes of the young generation of a process with these options, after it has made objects. */
function youngMegabytes(options: readonly string[], kept: { objects: number }): number {
  const script = `
    const kept = [];
    for (let at = 0; at < 3_000_000; at++) kept[at % ${kept.objects}] = { at };
    const { getHeapSpaceStatistics } = require('node:v8');
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);`;
  return Number(execFileSync(process.execPath, [...options, '-e', script], { encoding: 'utf8' }));
}

t.test('the young generation of a process has one size, unless the operator sets it', async (t) => {
  const options = v8HeapOptions('--enable-source-maps');
  t.same(options, ['--max-semi-space-size=8', '--min-semi-space-size=8']);
  t.equal(youngMegabytes(options, { objects: 400_000 }), 2 * 8, 'two halves of 8 MB while objects die late');
  t.equal(youngMegabytes(options, { objects: 1 }), 2 * 8, 'and while they die at once');
  t.same(v8HeapOptions('--max-semi-space-size=32 --enable-source-maps'), []);
  t.same(v8HeapOptions('--min-semi-space-size=1'), []);
});
