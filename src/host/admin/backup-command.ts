import { resolve } from 'node:path';
import { type AdminCommand, CommandUsageError } from './command.ts';

export const BACKUP_COMMAND: AdminCommand = {
  name: 'backup',
  about:
    'Copies the embedded stores into a new directory while the service runs. To go back, start the service with DATA_DIR on the copy.',
  takes: ['DIRECTORY'],
  async run({ words }, { backUp, onProgress }) {
    if (backUp === undefined)
      throw new CommandUsageError(
        'The stores are not embedded: copy them with mongodump, and the bucket with its own tools.',
      );
    const { directory, objects } = await backUp(resolve(words[0] ?? ''), onProgress);
    return {
      data: { directory, objects },
      text: `${directory} holds the documents and ${objects} objects. To go back, stop the service and start it with DATA_DIR=${directory}.`,
    };
  },
};
