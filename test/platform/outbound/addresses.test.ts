// needs: nothing
import t from 'tap';
import { isPublicAddress } from '../../../src/platform/outbound/target.ts';
import { words } from './listener.ts';

t.test('the neighbours of every special range are public', async (t) => {
  const neighbours = words(`
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
  169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0
  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255
  203.0.114.0 223.255.255.255 2000:: 2001:200:: 2001:db7:ffff::1 2001:db9::1 2001:ffff::1 2003::1
  3ffe::1 3fff:1000::1 2606:4700:4700::1111 2a00:1450:4001:800::200e
`);
  for (const address of neighbours) t.equal(isPublicAddress(address), true, address);
});

t.test('what IANA marks globally reachable inside a special range is public', async (t) => {
  const reachable = words(`
  192.0.0.9 192.0.0.10 192.31.196.1 192.52.193.1 192.175.48.1 2001:1::1 2001:1::2 2001:1::3 2001:3::1
  2001:4:112::1 2001:20::1 2001:2f:ffff::1 2001:30::1 2620:4f:8000::1
`);
  for (const address of reachable) t.equal(isPublicAddress(address), true, address);
});

t.test('what is no address is not public', async (t) => {
  for (const text of [
    '',
    'localhost',
    '8.8.8',
    '8.8.8.8/32',
    '2606:4700::1%eth0',
    '[2606:4700::1]',
    '08.8.8.8',
    ' 8.8.8.8',
  ]) {
    t.equal(isPublicAddress(text), false, text);
  }
});
