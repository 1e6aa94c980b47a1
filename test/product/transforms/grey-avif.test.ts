// needs: server
import t from 'tap';
import { openCalls, pictureOf } from './calls.ts';

const calls = await openCalls(t);

/** AVIFs without colours, made by avifenc: black, grey 128 and white, each eight pixels wide. */
const GREY_AVIFS = {
  'limited range, 8 bits':
    'AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAPBtZXRhAAAAAAAAAChoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAbGli' +
    'YXZpZgAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAEUAAAAHwAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAA' +
    'AAEAAGF2MDFDb2xvcgAAAABoaXBycAAAAElpcGNvAAAAFGlzcGUAAAAAAAAAGAAAAAgAAAAOcGl4aQAAAAABCAAAAAxhdjFDgQAc' +
    'AAAAABNjb2xybmNseAABAA0ABgAAAAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAACdtZGF0EgAKCBgQr/lgIaDEMhEQAKMg/j0alMLL' +
    'Y2xeRKQ1gA==',
  'limited range, 10 bits':
    'AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAPBtZXRhAAAAAAAAAChoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAbGli' +
    'YXZpZgAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAEUAAAAIAAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAA' +
    'AAEAAGF2MDFDb2xvcgAAAABoaXBycAAAAElpcGNvAAAAFGlzcGUAAAAAAAAAGAAAAAgAAAAOcGl4aQAAAAABCgAAAAxhdjFDgQBc' +
    'AAAAABNjb2xybmNseAABAA0ABgAAAAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAAChtZGF0EgAKCBgQr/ngIaDEMhIQAKMg/jv34+ws' +
    'scaorkRB0Kg=',
  'full range, with a grey profile of linear light':
    'AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAb1tZXRhAAAAAAAAAChoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAbGli' +
    'YXZpZgAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAHhAAAAHwAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAA' +
    'AAEAAGF2MDFDb2xvcgAAAAE1aXBycAAAARVpcGNvAAAAFGlzcGUAAAAAAAAAGAAAAAgAAAAOcGl4aQAAAAABCAAAAAxhdjFDgQAc' +
    'AAAAAMxjb2xycHJvZgAAAMBub25lAkAAAG1udHJHUkFZWFlaIAfgAAEAAQAAAAAAAGFjc3BBUFBMAAAAAG5vbmVub25lAAAAAAAA' +
    'AAAAAAAAAAD21gABAAAAANMtbm9uZQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAnd0cHQA' +
    'AACcAAAAFGtUUkMAAACwAAAAEFhZWiAAAAAAAAD21gABAAAAANMtY3VydgAAAAAAAAABAQAAAAAAABNjb2xybmNseAACAAIABoAA' +
    'AAAYaXBtYQAAAAAAAAABAAEFAQKDBAUAAAAnbWRhdBIACggYEK/5YEBA1DIREACjIP49VBbCy3OG7kS6t4A=',
};
/** The middle one in sRGB: itself, or the sRGB value of the linear light 128 / 255. */
const MIDDLES = [128, 128, 188];

for (const [index, [name, text]] of Object.entries(GREY_AVIFS).entries()) {
  t.test(`an AVIF of grey levels alone shows what it stores: ${name}`, async (t) => {
    const file = Buffer.from(text, 'base64');
    const greys = [0, MIDDLES[index] as number, 255];
    for (const query of [
      { op: 'convert', format: 'png' },
      { op: 'flip', axis: 'vertical', format: 'tiff' },
      { op: 'convert', format: 'webp', lossless: true },
      { op: 'convert', format: 'png', metadata: 'keep' },
    ]) {
      const shown = await pictureOf(await calls.transform(query, file, 'image/avif'));
      const farthest = greys.map((grey, at) => Math.abs((shown.at(4 + 8 * at, 4)[0] ?? 0) - grey));
      t.ok(Math.max(...farthest) <= 1, `${JSON.stringify(query)}: ${farthest}`);
    }
    const { averageColor } = (await calls.metadata(file, 'image/avif')).json.data.image;
    const average = Number.parseInt(averageColor.slice(1, 3), 16);
    t.ok(Math.abs(average - greys.reduce((sum, grey) => sum + grey) / 3) <= 1, averageColor);
  });
}
