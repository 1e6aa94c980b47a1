import type { Answer } from './answers.ts';
import {
  type CallArguments,
  type CallFields,
  type CallName,
  type DataOf,
  type HttpMethod,
  type PathOf,
  sendNamedCall,
} from './calls.ts';
import { Assets } from './nouns/assets.ts';
import { Catalogue, Presets, Templates } from './nouns/catalogue.ts';
import { Images } from './nouns/images.ts';
import { Jobs } from './nouns/jobs.ts';
import { Requests, UsageReports } from './nouns/usage.ts';
import { Webhooks } from './nouns/webhooks.ts';
import { type CallOptions, type ClientOptions, Transport } from './transport.ts';

type CallNameOf<M extends HttpMethod, P extends PathOf<M>> = `${M} ${P}` & CallName;

/**
 * A client of one service with one credential. It keeps no state between calls, so one client can serve a whole
 * program.
 */
export class Darkroom {
  readonly images: Images;
  readonly assets: Assets;
  readonly jobs: Jobs;
  readonly presets: Presets;
  readonly templates: Templates;
  readonly webhooks: Webhooks;
  readonly ops: Catalogue;
  readonly requests: Requests;
  readonly usage: UsageReports;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(options);
    this.images = new Images(this.#transport);
    this.assets = new Assets(this.#transport);
    this.jobs = new Jobs(this.#transport);
    this.presets = new Presets(this.#transport);
    this.templates = new Templates(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
    this.ops = new Catalogue(this.#transport);
    this.requests = new Requests(this.#transport);
    this.usage = new UsageReports(this.#transport);
  }

  /** Makes any call whose request and response are JSON, and returns the `data` from the response. */
  async request<M extends HttpMethod, P extends PathOf<M>>(
    method: M,
    path: P,
    ...args: CallArguments<CallFields<CallNameOf<M, P>> & CallOptions>
  ): Promise<DataOf<CallNameOf<M, P>>> {
    return (await this.answer(method, path, ...args)).data;
  }

  /** Makes a call like `request`, but also returns the paging, the warnings, the request id and the headers. */
  answer<M extends HttpMethod, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[fields]: CallArguments<CallFields<CallNameOf<M, P>> & CallOptions>
  ): Promise<Answer<DataOf<CallNameOf<M, P>>>> {
    const name = `${method} ${path}` as CallNameOf<M, P>;
    const given = (fields ?? {}) as CallFields<CallNameOf<M, P>> & CallOptions;
    return sendNamedCall(this.#transport, name, given, given);
  }
}
