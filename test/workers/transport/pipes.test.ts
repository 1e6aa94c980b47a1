// needs: nothing
import { PassThrough } from 'node:stream';
import t from 'tap';
import { joinMessage, splitMessage } from '../../../workers/transport/bytes.ts';

t.test(
  'the files of a message arrive whole, however the pipe cuts them, each in memory of its own',
  async (t) => {
    const files = [3, 0, 100_000, 1, 70_000, 0].map((size, at) => new Uint8Array(size).fill(at + 1));
    const message = { kind: 'branched', outputs: files.map((data, at) => ({ at, data })) };
    const all = Buffer.concat(files);
    for (const chunkBytes of [1_000, 65_536, 99_999, all.length]) {
      const pipe = new PassThrough();
      const joined = joinMessage(splitMessage(message).sent, pipe);
      for (let at = 0; at < all.length; at += chunkBytes) pipe.write(all.subarray(at, at + chunkBytes));
      const { outputs } = await joined;
      for (const [at, { data }] of outputs.entries()) {
        t.ok(Buffer.from(data).equals(files[at] ?? Buffer.of()), `file ${at} in chunks of ${chunkBytes}`);
        t.equal(data.buffer.byteLength, data.byteLength);
      }
    }
  },
);
