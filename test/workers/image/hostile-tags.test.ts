// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { withRawProfilesAsChunks } from '../../../workers/image/metadata/png-profiles.ts';
import { withExifTags } from '../../../workers/image/metadata/tiff-tags.ts';

const picture = sharp({ create: { width: 4, height: 4, channels: 3, background: '#369' } });
const ENTRIES = 512;

/** A TIFF structure of one directory whose every entry leads to itself, or claims the same bytes. */
function circular(entry: (at: DataView, place: number) => void, bytes: number): Uint8Array {
  const tiff = new Uint8Array(bytes);
  const view = new DataView(tiff.buffer);
  tiff.set([0x49, 0x49]);
  view.setUint16(2, 42, true);
  view.setUint32(4, 8, true);
  view.setUint16(8, ENTRIES, true);
  for (let index = 0; index < ENTRIES; index += 1) entry(view, 10 + index * 12);
  return tiff;
}

t.test('directories that lead to themselves, and tags that claim the same bytes, cost little', async (t) => {
  const tiff = new Uint8Array(
    await picture
      .clone()
      .tiff({ compression: 'lzw' })
      .toUint8Array()
      .then((made) => made.data),
  );
  const loop = circular((view, place) => {
    view.setUint16(place, 0x8769, true);
    view.setUint16(place + 2, 4, true);
    view.setUint32(place + 4, 1, true);
    view.setUint32(place + 8, 8, true);
  }, 8_192);
  const claims = circular((view, place) => {
    view.setUint16(place, 0x010e, true);
    view.setUint16(place + 2, 2, true);
    view.setUint32(place + 4, 60_000, true);
    view.setUint32(place + 8, 8, true);
  }, 100_000);
  for (const hostile of [loop, claims]) {
    const made = withExifTags(tiff, hostile, 'all');
    t.ok(made.byteLength < 1_000_000, `${made.byteLength} bytes`);
    t.equal((await sharp(made).metadata()).width, 4, 'the picture is there');
  }
});

t.test('of raw profiles without end one per kind is carried', async (t) => {
  const png = await picture.clone().png().toBuffer();
  const text = Buffer.from('Raw profile type exif\0\nexif\n8\n49492a0008000000\n', 'latin1');
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from('tEXt'), text, Buffer.alloc(4)]);
  chunk.writeUInt32BE(text.length);
  const many = Buffer.concat([png.subarray(0, 33), ...Array(60_000).fill(chunk), png.subarray(33)]);
  const made = Buffer.from(withRawProfilesAsChunks(new Uint8Array(many)));
  t.equal(made.indexOf('eXIf'), made.lastIndexOf('eXIf'));
  t.not(made.indexOf('eXIf'), -1);
  t.equal(made.length, many.length - chunk.length + 12 + 8);
});
