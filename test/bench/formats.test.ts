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
    '<testsuite name="proof" timestamp="2026-01-01T00:00:00" tests="2" failures="1" skipped="0">',
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

t.test('what could not be compared is skipped in JUnit, and counted in Markdown', async (t) => {
  const limit = 'The loader was the limit: it used "100 %" of its core.';
  const skipped = ['a', 'b', 'c'].map((name) => ({ name, failure: null, skipped: limit }));
  const compared = {
    ...result,
    checks: [...result.checks, ...skipped],
    sides: { a: 'main (1234)', b: 'http://x' },
  };
  const junit = FORMATS.junit.write(compared);
  t.match(junit, 'tests="5" failures="1" skipped="3"');
  t.match(
    junit,
    '    <skipped message="The loader was the limit: it used &quot;100 %&quot; of its core."/>\n  </testcase>',
  );
  const markdown = FORMATS.markdown.write(compared);
  t.match(markdown, '2 of 5 compared, 1 of them failed.');
  t.match(markdown, `- 3 not compared: ${limit}`);
  t.match(markdown, 'A is main (1234), B is http://x.');
  t.match(FORMATS.csv.write(compared), /a is,b is\n.*,main \(1234\),http:\/\/x\n/);
});

t.test(
  'Prometheus text is in base units, with a help and a label for each text that names a row',
  async (t) => {
    const rows = [
      { call: 'resize', 'CPU ms': 41.5, MB: 2, 'items/s': 3, a: 1, b: 2, note: 'x' },
      { call: 'crop', 'CPU ms': 12, MB: 1, 'items/s': 4, a: 1, b: 'none', note: 'y' },
    ];
    const text = FORMATS.prometheus.write({ ...result, rows });
    t.match(text, 'darkroom_bench_cpu_seconds{suite="proof",call="resize"} 0.0415');
    t.match(text, 'darkroom_bench_bytes{suite="proof",call="crop"} 1048576');
    const lines = text.split('\n').filter((line) => line !== '');
    const names = new Set(
      lines.filter((line) => !line.startsWith('#')).map((line) => line.replace(/\{.*/, '')),
    );
    for (const name of names) {
      t.ok(
        lines.some((line) => line.startsWith(`# HELP ${name} `)),
        name,
      );
      t.ok(lines.includes(`# TYPE ${name} gauge`), name);
      // What the linter of Prometheus refuses: abbreviated units, and the endings of other kinds of metrics.
      t.notMatch(
        String(name),
        /_(s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(_|$)|_(total|count|sum|bucket)$|[A-Z]/,
        name,
      );
    }
    const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.split(' ')[0]);
    t.equal(new Set(series).size, series.length, 'no series is there twice');
  },
);

t.test('Prometheus text has a gauge for each figure, and leaves out what was not measured', async (t) => {
  const text = FORMATS.prometheus.write(result);
  t.match(text, '# TYPE darkroom_bench_right_per_second gauge');
  t.match(text, 'darkroom_bench_right_per_second{suite="proof",stage="first",case="a, \\"b\\""} 12.5');
  t.match(text, 'darkroom_bench_errors_percent{suite="proof",stage="first",case="c|d"} 1.5');
  t.same(text.match(/^darkroom_bench_p99\{.*/gm), [
    'darkroom_bench_p99{suite="proof",stage="first",case="c|d"} 40',
  ]);
});
