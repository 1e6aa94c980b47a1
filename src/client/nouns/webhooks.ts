import type { Pages } from '../answers.ts';
import { type BodyOf, type DataOf, listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { Delivery, WebhookEndpoint } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** An endpoint with its secret. Later responses do not contain the secret. */
type EndpointWithSecret = DataOf<'POST /webhook-endpoints'>;

/**
 * Webhook endpoints and their deliveries, which are signed messages about jobs. Receivers verify them with
 * `verifyWebhook`.
 */
export class Webhooks extends CallGroup {
  list(options?: CallOptions): Promise<WebhookEndpoint[]> {
    return readNamedCall(this.transport, 'GET /webhook-endpoints', {}, options);
  }

  get(endpointId: string, options?: CallOptions): Promise<WebhookEndpoint> {
    const name = 'GET /webhook-endpoints/{endpointId}';
    return readNamedCall(this.transport, name, { path: { endpointId } }, options);
  }

  /** Creates an endpoint. Store the returned `secret`, because later responses do not contain it. */
  create(endpoint: BodyOf<'POST /webhook-endpoints'>, options?: CallOptions): Promise<EndpointWithSecret> {
    return readNamedCall(this.transport, 'POST /webhook-endpoints', { body: endpoint }, options);
  }

  /** Changes an endpoint. Fields that are left out keep their values. */
  update(
    endpointId: string,
    change: BodyOf<'PUT /webhook-endpoints/{endpointId}'>,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    const fields = { path: { endpointId }, body: change };
    return readNamedCall(this.transport, 'PUT /webhook-endpoints/{endpointId}', fields, options);
  }

  async delete(endpointId: string, options?: CallOptions): Promise<void> {
    const name = 'DELETE /webhook-endpoints/{endpointId}';
    await readNamedCall(this.transport, name, { path: { endpointId } }, options);
  }

  /** Replaces the secret immediately, and returns the new one. Store it, because later responses do not contain it. */
  rotateSecret(endpointId: string, options?: CallOptions): Promise<EndpointWithSecret> {
    const fields = { path: { endpointId } };
    const name = 'POST /webhook-endpoints/{endpointId}/rotate-secret';
    return readNamedCall(this.transport, name, fields, options);
  }

  /** Sends a test event immediately, and returns the outcome. */
  test(endpointId: string, options?: CallOptions): Promise<Delivery> {
    const fields = { path: { endpointId } };
    return readNamedCall(this.transport, 'POST /webhook-endpoints/{endpointId}/test', fields, options);
  }

  /** Lists the deliveries of an endpoint, newest first. */
  deliveries(
    endpointId: string,
    query: QueryOf<'GET /webhook-endpoints/{endpointId}/deliveries'> = {},
    options?: CallOptions,
  ): Pages<Delivery> {
    const fields = { path: { endpointId }, query };
    return listNamedCall(this.transport, 'GET /webhook-endpoints/{endpointId}/deliveries', fields, options);
  }

  /** Reads a delivery together with its body. */
  delivery(
    endpointId: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<DataOf<'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}'>> {
    const name = 'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}';
    return readNamedCall(this.transport, name, { path: { endpointId, deliveryId } }, options);
  }

  /**
   * Sends failed events again: those whose last delivery failed, if that delivery was queued at or after a given
   * instant.
   */
  redeliverFailed(
    endpointId: string,
    since: string,
    options?: CallOptions,
  ): Promise<DataOf<'POST /webhook-endpoints/{endpointId}/redeliver'>> {
    const fields = { path: { endpointId }, body: { since } };
    return readNamedCall(this.transport, 'POST /webhook-endpoints/{endpointId}/redeliver', fields, options);
  }

  /** Sends the event of a delivery once more. */
  redeliver(endpointId: string, deliveryId: string, options?: CallOptions): Promise<Delivery> {
    const name = 'POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver';
    return readNamedCall(this.transport, name, { path: { endpointId, deliveryId } }, options);
  }
}
