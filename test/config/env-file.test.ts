// needs: nothing
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readEnvFile, saveSettings } from '../../config/env-file.ts';
import { loadSettingsFile } from '../../config/index.ts';
import { SettingsError } from '../../src/platform/setting.ts';

const folder = mkdtempSync(join(tmpdir(), 'darkroom-env-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function fileOf(text: string): string {
  files += 1;
  const path = join(folder, `${files}.env`);
  writeFileSync(path, text);
  return path;
}

t.test('settings are merged into the file by name: comments and other lines stay', async (t) => {
  const text = '# The host in the cellar.\nPROCESSES=2\n\nexport IMAGE_THREADS = 1\nOTHER="a b"\n# end\n';
  const path = fileOf(text);
  saveSettings({ IMAGE_THREADS: '3', IMAGE_QUEUE: '9' }, { path, keepsBefore: true });
  t.equal(
    readFileSync(path, 'utf8'),
    '# The host in the cellar.\nPROCESSES=2\n\nIMAGE_THREADS=3\nOTHER="a b"\n# end\nIMAGE_QUEUE=9\n',
  );
  t.equal(readFileSync(`${path}.before`, 'utf8'), text);
  t.notOk(existsSync(`${path}.new`));
});

t.test('a write keeps the owner and the mode of the file, so that secrets stay unreadable', async (t) => {
  const path = fileOf('OPERATOR_TOKEN=of-the-operator-alone-0123\n');
  chmodSync(path, 0o600);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(path, 12_345, 54_321);
  const { uid, gid } = statSync(path);
  saveSettings({ PROCESSES: '2' }, { path, keepsBefore: true });
  t.match(statSync(path), { uid, gid });
  for (const kept of [path, `${path}.before`]) t.equal(statSync(kept).mode & 0o777, 0o600, kept);
});

t.test('a file that is not there yet is made, and a folder that cannot be written is an error', async (t) => {
  const path = join(folder, 'new.env');
  saveSettings({ PROCESSES: '4' }, { path, keepsBefore: true });
  t.equal(readFileSync(path, 'utf8'), 'PROCESSES=4\n');
  t.notOk(existsSync(`${path}.before`));
  t.throws(() => saveSettings({ PROCESSES: '4' }, { path: join(folder, 'none', 'x.env') }), {
    code: 'ENOENT',
  });
});

t.test(
  'a misspelt setting and a line that sets nothing are named with their line, and nothing is read',
  async (t) => {
    const path = fileOf('# fine\nIMAGE_TREADS=4\nPROCESSES 2\nDARKROOM_TEST_ONE=1\nMY_OWN_PROGRAM=x\n');
    const violations = [
      `${path}, line 2: there is no setting IMAGE_TREADS. Did you mean IMAGE_THREADS?`,
      `${path}, line 3 is not a setting: write NAME=value, or begin the line with #.`,
    ];
    t.throws(() => loadSettingsFile(path), new SettingsError(violations));
    t.equal(process.env.DARKROOM_TEST_ONE, undefined);
  },
);

t.test('a quotation mark that is not closed is refused, because the next lines would be lost', async (t) => {
  const values = ['"/srv', "'a", '"a" b', '`a', '"a\\"'];
  const right = ['"a b"', "'a' # comment", '"a#b"', 'a"b', '""', '"a" '];
  const path = fileOf([...values, ...right].map((value, n) => `MY_${n}=${value}\r`).join('\n'));
  const violations = values
    .slice(0, 4)
    .map(
      (_, n) =>
        `${path}, line ${n + 1}: end the value of MY_${n} with the quotation mark that it begins with, on this line.`,
    );
  t.throws(() => readEnvFile(path, []), new SettingsError(violations));
});

t.test('a # within a value causes a warning, because it begins a comment', async (t) => {
  const path = fileOf(
    'DARKROOM_TEST_EIGHT=pa#ss # of the mail\nMY_ONE=a # b\nMY_TWO="a#b"\nMY_THREE=\'a\' #b\n',
  );
  t.match(loadSettingsFile(path), [/line 1: the value of DARKROOM_TEST_EIGHT ends before its #/]);
  t.equal(process.env.DARKROOM_TEST_EIGHT, 'pa');
});

t.test('a right file is read, names of other programs included; the environment wins', async (t) => {
  const path = fileOf('IMAGE_HEAVY_SLOTS=3\nDARKROOM_TEST_TWO=2\nDARKROOM_TEST_THREE=3\n');
  process.env.DARKROOM_TEST_THREE = 'set';
  t.doesNotThrow(() => loadSettingsFile(path));
  t.equal(process.env.DARKROOM_TEST_TWO, '2');
  t.equal(process.env.DARKROOM_TEST_THREE, 'set');
  t.doesNotThrow(() => loadSettingsFile(join(folder, 'absent.env')));
});

t.test('a byte order mark is no part of the first name, and lines may end as on Windows', async (t) => {
  const path = fileOf('\uFEFFDARKROOM_TEST_FOUR=4\r\nDARKROOM_TEST_FIVE="5"\r\n');
  t.same(loadSettingsFile(path), []);
  t.equal(process.env.DARKROOM_TEST_FOUR, '4');
  t.equal(process.env.DARKROOM_TEST_FIVE, '5');
  saveSettings({ DARKROOM_TEST_FOUR: '6' }, { path });
  t.equal(readEnvFile(path, []).settings.DARKROOM_TEST_FOUR, '6', 'a change replaces the line');
  t.equal(readFileSync(path, 'utf8').match(/DARKROOM_TEST_FOUR/g)?.length, 1);
});

t.test('a file in UTF-16 and a folder are refused by their name, and nothing is read', async (t) => {
  const path = fileOf('');
  writeFileSync(path, Buffer.from('\uFEFFDARKROOM_TEST_SIX=6\n', 'utf16le'));
  t.throws(() => loadSettingsFile(path), { message: `${path} is not text in UTF-8: save it as UTF-8.` });
  t.equal(process.env.DARKROOM_TEST_SIX, undefined);
  t.throws(() => loadSettingsFile(folder), {
    message: `${folder} is a folder: name the file of settings in it.`,
  });
});

t.test('a name that is set twice is a warning with both lines, and the last one counts', async (t) => {
  const path = fileOf('DARKROOM_TEST_SEVEN=1\n# DARKROOM_TEST_SEVEN=2\n\n export DARKROOM_TEST_SEVEN = 3\n');
  t.same(loadSettingsFile(path), [`${path} sets DARKROOM_TEST_SEVEN in lines 1 and 4: the last one counts.`]);
  t.equal(process.env.DARKROOM_TEST_SEVEN, '3');
});

t.test('a file that somebody named and that is not there is a warning; the default one is not', async (t) => {
  const path = join(folder, 'absent.env');
  t.match(loadSettingsFile(path), [new RegExp(`There is no file ${path}, which ENV_FILE names`)]);
  t.same(loadSettingsFile('darkroom.env'), []);
  process.env.ENV_FILE = 'darkroom.env';
  t.teardown(() => delete process.env.ENV_FILE);
  t.match(loadSettingsFile(), [/There is no file darkroom\.env, which ENV_FILE names/]);
});
