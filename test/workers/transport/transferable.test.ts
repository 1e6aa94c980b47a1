// needs: nothing
import { transferableSymbol, valueSymbol } from 'piscina';
import t from 'tap';
import { markTransferable } from '../../../workers/transport/transferable.ts';

interface Parcel {
  [transferableSymbol]: ArrayBuffer[];
  [valueSymbol]: { data: Uint8Array };
}

t.test('bytes that are alone in their memory are transferred, others are copied first', async (t) => {
  const alone = new Uint8Array([1, 2, 3]);
  const pooled = Buffer.concat([Buffer.from('ab'), Buffer.from('c')]);
  t.not(pooled.buffer.byteLength, pooled.byteLength, 'a small Buffer shares its memory');
  for (const [data, text] of [
    [alone, '\x01\x02\x03'],
    [pooled, 'abc'],
  ] as const) {
    const parcel = markTransferable({ data }) as unknown as Parcel;
    const { data: sent } = structuredClone(parcel[valueSymbol], { transfer: parcel[transferableSymbol] });
    t.equal(Buffer.from(sent).toString('latin1'), text);
  }
  t.equal(alone.byteLength, 0, 'its memory is the receiver’s now');
  t.equal(pooled.toString(), 'abc', 'what shares its memory stays where it is');
});
