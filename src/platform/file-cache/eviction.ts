import type { ListedFile } from './storage.ts';

/**
 * The files to delete, so that the others take at most `keptBytes`. It repeatedly picks the least recently used file of
 * the owner with the most bytes.
 */
export function filesToEvict(files: readonly ListedFile[], keptBytes: number): ListedFile[] {
  const owners = [...Map.groupBy(files, ownerOf).values()].map((owned) => ({
    bytes: totalBytesOf(owned),
    // The least recently used file is last, where it is cheap to remove.
    files: owned.toSorted((one, other) => other.usedMs - one.usedMs),
  }));
  let total = totalBytesOf(files);
  const evicted: ListedFile[] = [];
  while (total > keptBytes) {
    const largest = owners.reduce((most, owner) => (owner.bytes > most.bytes ? owner : most));
    const file = largest.files.pop();
    if (file === undefined) break;
    largest.bytes -= file.bytes;
    total -= file.bytes;
    evicted.push(file);
  }
  return evicted;
}

export function totalBytesOf(files: readonly ListedFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function ownerOf({ path }: ListedFile): string {
  return path.slice(0, path.indexOf('/'));
}
