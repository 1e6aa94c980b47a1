// needs: nothing
import t from 'tap';
import { FORMATS } from '../../bench/report/formats.ts';

const result = {
  suite: 'proof',
  at: '2026-01-01T00:00:00.000Z',
  rows: [
    { stage: 'first', case: 'a, "b"', 'right/s': 12.5, 'errors %': 0, p99: 'none' },
    { stage: 'first', case: 'c|d', 'right/s': 3, 'errors %': 1.5, p99: 40 },
  ],
  checks: [
    { name: 'first, a: p99', failure: null },
    { name: 'first, c|d: p99', failure: 'p99 is "40" & <above> 4.' },
  ],
};

t.test('CSV quotes what needs it', async (t) => {
  t.equal(
    FORMATS.csv.write(result),
    'stage,case,right/s,errors %,p99\nfirst,"a, ""b""",12.5,0,none\nfirst,c|d,3,1.5,40\n',
  );
});

t.test('JUnit has one case for each check, and each failure with its sentence', async (t) => {
  t.same(FORMATS.junit.write(result).split('\n'), [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuite name="proof" timestamp="2026-01-01T00:00:00" tests="2" failures="1">',
    '  <testcase classname="proof" name="first, a: p99"/>',
    '  <testcase classname="proof" name="first, c|d: p99">',
    '    <failure message="p99 is &quot;40&quot; &amp; &lt;above> 4."/>',
    '  </testcase>',
    '</testsuite>',
    '',
  ]);
});

t.test('Markdown is a table with what failed above it', async (t) => {
  const text = FORMATS.markdown.write(result);
  t.match(text, /1 of 2 checks passed/);
  t.match(text, /- p99 is "40"/);
  t.match(text, /\| first \| c\\\|d \| 3 \| 1.5 \| 40 \|/);
});

t.test('Prometheus text has a gauge for each figure, and leaves out what was not measured', async (t) => {
  const text = FORMATS.prometheus.write(result);
  t.match(text, '# TYPE darkroom_bench_right_per_second gauge');
  t.match(text, 'darkroom_bench_right_per_second{suite="proof",stage="first",case="a, \\"b\\""} 12.5');
  t.match(text, 'darkroom_bench_errors_percent{suite="proof",stage="first",case="c|d"} 1.5');
  t.same(text.match(/^darkroom_bench_p99\{.*/gm), [
    'darkroom_bench_p99{suite="proof",stage="first",case="c|d"} 40',
  ]);
});
