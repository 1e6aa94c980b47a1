import { createHash } from 'node:crypto';
import { PassThrough, Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { ByteRange } from '../../assets/content/content.ts';

/** One file of an archive. */
export interface ArchiveEntry {
  name: string;
  sizeBytes: number;
  /** SHA-256 of the bytes: part of the archive's tag. */
  digest: string;
  open(): Promise<Readable>;
}

export interface Archive {
  sizeBytes: number;
  /** The same for the same files, so that a download can go on where it broke off. */
  etag: string;
  /** The bytes, or a range of them. Closing the stream closes what it reads. */
  stream(range: ByteRange | null): Readable;
}

const FILE_MODE = 0o100644;

/**
 * A ZIP archive of files, which are stored as they are: pictures do not get smaller. Its bytes follow from the entries
 * alone, whatever the time or the process, so that a range of it is cut from the whole. Files before the range are read
 * for their checksums, which stand at the end of the archive.
 * @param modifiedAt the time that every file carries.
 */
export async function archiveOf(entries: readonly ArchiveEntry[], modifiedAt: Date): Promise<Archive> {
  const sizeBytes = await sizeOf(entries, modifiedAt);
  return {
    sizeBytes,
    etag: tagOf(entries, modifiedAt),
    stream(range) {
      const { zip, close } = zipOf(entries, modifiedAt);
      const whole = { start: 0, end: sizeBytes - 1 };
      const out = cut(range ?? whole);
      // The reader gets an error from the stream itself.
      pipeline(Readable.from(zip), out).catch(() => undefined);
      out.once('close', close);
      return out;
    },
  };
}

/** Known from the names and sizes alone, by an archive whose files are never opened. */
async function sizeOf(entries: readonly ArchiveEntry[], modifiedAt: Date): Promise<number> {
  const unopened = new ZipFile();
  for (const { name, sizeBytes } of entries)
    unopened.addReadStreamLazy(name, optionsOf(sizeBytes, modifiedAt), () => undefined);
  const { promise, resolve } = Promise.withResolvers<number>();
  // The types of the package forget the argument.
  unopened.end(undefined, resolve as () => void);
  return promise;
}

function zipOf(entries: readonly ArchiveEntry[], modifiedAt: Date) {
  const file = new ZipFile();
  const zip = new PassThrough();
  let reading: Readable | null = null;
  for (const { name, sizeBytes, open } of entries) {
    file.addReadStreamLazy(name, optionsOf(sizeBytes, modifiedAt), (done) => {
      open().then(
        (stream) => {
          reading = stream;
          if (zip.destroyed) stream.destroy();
          stream.once('error', (error) => zip.destroy(error));
          done(null, stream);
        },
        (error: Error) => zip.destroy(error),
      );
    });
  }
  file.on('error', (error: Error) => zip.destroy(error));
  file.outputStream.pipe(zip);
  file.end();
  const close = () => {
    zip.destroy();
    reading?.destroy();
  };
  return { zip, close };
}

function optionsOf(size: number, mtime: Date) {
  return { compress: false, size, mtime, mode: FILE_MODE };
}

/** Passes on the bytes of a range, and ends after the last. */
function cut({ start, end }: ByteRange): Transform {
  let at = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const from = Math.max(0, start - at);
      const to = Math.min(chunk.length, end + 1 - at);
      at += chunk.length;
      if (from < to) this.push(chunk.subarray(from, to));
      if (at > end) this.push(null);
      done();
    },
  });
}

function tagOf(entries: readonly ArchiveEntry[], modifiedAt: Date): string {
  const hash = createHash('sha256').update(modifiedAt.toISOString());
  for (const { name, digest } of entries) hash.update(`\n${digest} ${name}`);
  return `"${hash.digest('base64url').slice(0, 32)}"`;
}
