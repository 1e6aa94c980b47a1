// needs: nothing
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { readSettings } from '../../config/index.ts';
import { createMailSender } from '../../src/platform/mail.ts';

const MESSAGE = {
  id: 'whe_1.2026-05-04T03:02:01.000Z',
  to: 'owner@example.test',
  subject: 'Your webhook endpoint was disabled',
  text: 'Reason: HTTP 500.',
};

/** A mail server that takes one command at a time and keeps what it was given; `refuses` answers the sender so. */
async function startMailServer(t: Test, refuses = '') {
  const lines: string[] = [];
  const server = createServer((socket) => {
    let isBody = false;
    socket.write('220 mail.test ESMTP\r\n');
    socket.on('error', () => undefined);
    createInterface({ input: socket }).on('line', (line) => {
      lines.push(line);
      if (isBody && line !== '.') return;
      if (line.startsWith('EHLO')) socket.write('250 mail.test\r\n');
      else if (line.startsWith('MAIL') && refuses !== '') socket.write(`${refuses}\r\n`);
      else if (line === 'DATA') socket.write('354 go on\r\n');
      else if (line === 'QUIT') socket.end('221 bye\r\n');
      else socket.write('250 ok\r\n');
      isBody = line === 'DATA';
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, lines };
}

function mailThrough(url: string, log: (context: object) => void = () => undefined) {
  const { mail } = readSettings({ SMTP_URL: url, MAIL_FROM: 'Darkroom <darkroom@example.test>' });
  return createMailSender({ settings: mail, log: { info: log } });
}

t.test('a mail goes out through the server of SMTP_URL, under the same Message-ID each time', async (t) => {
  const { url, lines } = await startMailServer(t);
  await mailThrough(url)(MESSAGE);
  const said = lines.join('\n');
  t.match(said, /^MAIL FROM:<darkroom@example\.test>/m);
  t.match(said, /^RCPT TO:<owner@example\.test>/m);
  t.match(said, /^Subject: Your webhook endpoint was disabled$/m);
  t.match(said, /^Message-ID: <whe_1\.2026-05-04T03-02-01\.000Z@darkroom>$/m);
  t.match(said, /^Reason: HTTP 500\.$/m);
});

t.test('a mail that was not taken is told, so that it is tried again', async (t) => {
  const { url } = await startMailServer(t, '451 try again later');
  await t.rejects(mailThrough(url)(MESSAGE), /451/);
});

t.test('without a mail server mails go into the log', async (t) => {
  const logged: object[] = [];
  await mailThrough('', (context) => logged.push(context))(MESSAGE);
  const { id: _, ...rest } = MESSAGE;
  t.same(logged, [rest]);
});
