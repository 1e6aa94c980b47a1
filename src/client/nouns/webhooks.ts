import type { DataOf } from '../calls.ts';
import type { Delivery, WebhookEndpoint } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/**
 * Webhook endpoints and their deliveries, which are signed messages about jobs. Receivers verify them with
 * `verifyWebhook`.
 */
export class Webhooks extends CallGroup {
  list(options?: CallOptions): Promise<WebhookEndpoint[]> {
    return this.send('GET /webhook-endpoints', {}, options);
  }

  readonly get = this.methodWithId('GET /webhook-endpoints/{endpointId}');
  /** Creates an endpoint. Store the returned `secret`, because later responses do not contain it. */
  readonly create = this.methodWithBody('POST /webhook-endpoints');
  /** Changes an endpoint. Fields that are left out keep their values. */
  readonly update = this.methodWithIdAndBody('PUT /webhook-endpoints/{endpointId}');
  readonly delete = this.methodWithId('DELETE /webhook-endpoints/{endpointId}');
  /** Replaces the secret immediately, and returns the new one. Store it, because later responses do not contain it. */
  readonly rotateSecret = this.methodWithId('POST /webhook-endpoints/{endpointId}/rotate-secret');
  /** Sends a test event immediately, and returns the outcome. */
  readonly test = this.methodWithId('POST /webhook-endpoints/{endpointId}/test');
  /** Lists the deliveries of an endpoint, newest first. */
  readonly deliveries = this.listMethodWithId('GET /webhook-endpoints/{endpointId}/deliveries');

  /** Reads a delivery together with its body. */
  delivery(
    endpointId: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<DataOf<'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}'>> {
    const name = 'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}';
    return this.send(name, { path: { endpointId, deliveryId } }, options);
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
    return this.send('POST /webhook-endpoints/{endpointId}/redeliver', fields, options);
  }

  /** Sends the event of a delivery once more. */
  redeliver(endpointId: string, deliveryId: string, options?: CallOptions): Promise<Delivery> {
    const name = 'POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver';
    return this.send(name, { path: { endpointId, deliveryId } }, options);
  }
}
