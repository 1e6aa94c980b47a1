import { Darkroom } from '../client.ts';
import { type EnvironmentVariables, readConfiguration } from './configuration.ts';
import { UsageError } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** What a command needs: the terminal, the environment and the client. */
export class CliContext {
  readonly terminal: Terminal;
  readonly environment: EnvironmentVariables;
  #client: Darkroom | undefined;

  constructor(terminal: Terminal, environment: EnvironmentVariables) {
    this.terminal = terminal;
    this.environment = environment;
  }

  /** The client of the service. The address and the key come from the environment, or else from the configuration. */
  async client(): Promise<Darkroom> {
    if (this.#client !== undefined) return this.#client;
    const { DARKROOM_URL, DARKROOM_KEY } = this.environment;
    const { url, key } = await readConfiguration(this.environment);
    try {
      this.#client = new Darkroom({ baseUrl: DARKROOM_URL || url, key: DARKROOM_KEY || key });
      return this.#client;
    } catch (error) {
      throw new UsageError((error as Error).message, { cause: error });
    }
  }
}

export interface CliCommand {
  /** The usage text, for `--help`. */
  usage: string;
  run(args: string[], context: CliContext): Promise<number>;
}
