// needs: nothing
import t from 'tap';
import { addressesInHostsFile, resolveHostName } from '../../../src/platform/outbound/outbound.ts';

const HOSTS = `
# the host's own names
127.0.0.1\tlocalhost
::1 localhost ip6-localhost # both families
10.1.2.3  wiki.internal wiki Printer.Internal.
#192.0.2.1 commented.internal
`;

t.test('a hosts file is read as the system reads it', async (t) => {
  const rows: Array<[name: string, addresses: string[]]> = [
    ['localhost', ['127.0.0.1', '::1']],
    ['LOCALHOST.', ['127.0.0.1', '::1']],
    ['wiki', ['10.1.2.3']],
    ['printer.internal', ['10.1.2.3']],
    ['ip6-localhost', ['::1']],
    ['internal', []],
    ['commented.internal', []],
    ['both', []],
  ];
  for (const [name, addresses] of rows) {
    t.same(
      addressesInHostsFile(HOSTS, name).map(({ address }) => address),
      addresses,
      name,
    );
  }
  t.same(addressesInHostsFile(HOSTS, 'ip6-localhost'), [{ address: '::1', family: 6 }]);
});

t.test('a name of this host resolves, and a look-up of any other ends by itself', async (t) => {
  t.ok((await resolveHostName('localhost')).some(({ address }) => address === '127.0.0.1'));
  const nowhere = await resolveHostName('no-such-name.invalid').catch((error: Error) => error);
  t.ok(nowhere instanceof Error || nowhere.length === 0);
});
