import type { Pages } from '../answers.ts';
import {
  type BodyOf,
  type CallFields,
  type CallName,
  type DataOf,
  listNamedCall,
  type QueryOf,
  type RowOf,
  readNamedCall,
} from '../calls.ts';
import type { CallOptions, Transport } from '../transport.ts';

/**
 * The base class of the groups of calls that a client has, such as the calls about jobs. Its functions make methods
 * from the names of calls: what a method takes and returns follows from the schema.
 */
export abstract class CallGroup {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Makes a method that takes the query of the call. */
  protected methodWithQuery<N extends CallName>(name: N) {
    return (query?: QueryOf<N>, options?: CallOptions): Promise<DataOf<N>> =>
      this.send(name, { query } as CallFields<N>, options);
  }

  /** Makes a method that takes the id in the path of the call. */
  protected methodWithId<N extends CallName>(name: N) {
    return (id: string, options?: CallOptions): Promise<DataOf<N>> =>
      this.send(name, pathFields(name, id), options);
  }

  /** Makes a method that takes the body of the call. */
  protected methodWithBody<N extends CallName>(name: N) {
    return (body: BodyOf<N>, options?: CallOptions): Promise<DataOf<N>> =>
      this.send(name, { body } as CallFields<N>, options);
  }

  /** Makes a method that takes the id in the path, and the change in the body. */
  protected methodWithIdAndBody<N extends CallName>(name: N) {
    return (id: string, change: BodyOf<N>, options?: CallOptions): Promise<DataOf<N>> =>
      this.send(name, { ...pathFields(name, id), body: change }, options);
  }

  /** Makes a method that takes the query of a list, and returns its pages. */
  protected listMethodWithQuery<N extends CallName>(name: N) {
    return (query?: QueryOf<N>, options?: CallOptions): Pages<RowOf<N>> =>
      listNamedCall(this.transport, name, { query } as CallFields<N>, options);
  }

  /** Makes a method that takes the id in the path and the query of a list, and returns its pages. */
  protected listMethodWithId<N extends CallName>(name: N) {
    return (id: string, query?: QueryOf<N>, options?: CallOptions): Pages<RowOf<N>> =>
      listNamedCall(this.transport, name, { ...pathFields(name, id), query }, options);
  }

  protected send<N extends CallName>(
    name: N,
    fields: CallFields<N>,
    options?: CallOptions,
  ): Promise<DataOf<N>> {
    return readNamedCall(this.transport, name, fields, options);
  }
}

/** The fields of a call with one parameter in its path. */
function pathFields<N extends CallName>(name: N, id: string): CallFields<N> {
  const [, parameter = ''] = /\{(\w+)\}/.exec(name) ?? [];
  return { path: { [parameter]: id } } as CallFields<N>;
}
