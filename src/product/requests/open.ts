import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { keptRequestOf } from './keeping.ts';
import { RecentRequests } from './recent-requests.ts';
import { requestRoutes } from './routes.ts';
import { answerRequestSearches, RequestSearch } from './search.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether calls of the route are left out of their account's recent requests. */
    isUnlisted?: true;
  }
}

interface RequestsOptions {
  gate: CallGate;
  coordination: Coordination;
  hostId: string;
  processId: string;
  now: () => Date;
}

/** The recent requests. Each process keeps those that it answered, and answers the searches of other processes. */
export class RequestsSlice implements ProductSlice {
  readonly #gate: CallGate;
  readonly #now: () => Date;
  readonly #recent = new RecentRequests();
  readonly #search: RequestSearch;
  #endAnswers: () => void = () => {};

  private constructor({ gate, coordination, now }: RequestsOptions) {
    this.#gate = gate;
    this.#now = now;
    this.#search = new RequestSearch(coordination);
  }

  static async open(options: RequestsOptions): Promise<RequestsSlice> {
    const { coordination, hostId, processId, now } = options;
    const requests = new RequestsSlice(options);
    requests.#endAnswers = await answerRequestSearches(
      coordination,
      requests.#recent,
      `${hostId}/${processId}`,
      now,
    );
    return requests;
  }

  /** Keeps the calls of every route of `app` whose caller is known. */
  install(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const caller = this.#gate.callerIfAny(request);
      // The options are read once, because reading them copies them.
      const { url: route, config } = request.routeOptions;
      if (caller !== null && route !== undefined && !config.isUnlisted) {
        const { accountId, apiKeyId } = caller;
        const atMs = this.#now().getTime();
        this.#recent.add(accountId, keptRequestOf(request, reply, { route, apiKeyId, atMs }));
      }
      done();
    });
  }

  readonly routes = async (app: FastifyInstance): Promise<void> => {
    await requestRoutes(app, { gate: this.#gate, search: this.#search });
  };

  async stop(): Promise<void> {
    this.#endAnswers();
  }
}
