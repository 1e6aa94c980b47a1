// needs: nothing
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { v8HeapOptions } from '../../../src/host/processes/memory.ts';

/** Megabytes to which the young generation of a process with these options grows while objects die late. */
function youngMegabytes(options: readonly string[]): number {
  const script = `
    const kept = [];
    for (let at = 0; at < 3_000_000; at++) kept[at % 400_000] = { at };
    const { getHeapSpaceStatistics } = require('node:v8');
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);`;
  return Number(execFileSync(process.execPath, [...options, '-e', script], { encoding: 'utf8' }));
}

t.test('the young generation of a process stays small, unless the operator sets its size', async (t) => {
  const options = v8HeapOptions('--enable-source-maps');
  t.same(options, ['--max-semi-space-size=8']);
  t.ok(youngMegabytes(options) <= 2 * 8, 'two halves of 8 MB');
  t.same(v8HeapOptions('--max-semi-space-size=32 --enable-source-maps'), []);
});
