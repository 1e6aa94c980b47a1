import { DeliveriesStore } from '../../product/webhooks/deliveries/store.ts';
import { EndpointsStore } from '../../product/webhooks/endpoints/store.ts';
import { type Command, type CommandAnswer, type CommandContext, type Given, UsageError } from './command.ts';

export const WEBHOOK_COMMANDS: readonly Command[] = [
  {
    name: 'webhooks',
    about: 'Lists every webhook endpoint with its state, its failures in a row and what is queued for it.',
    takes: [],
    options: {},
    run: list,
  },
  {
    name: 'webhooks listen',
    about:
      'Prints the attempts to an endpoint as they are made, and hands each to a program at --forward, signed as it is. Changes no record.',
    takes: [],
    options: { endpoint: 'ENDPOINT', forward: 'URL' },
    run: async () => {
      throw new UsageError('webhooks listen goes on until it is ended: run it in a terminal.');
    },
  },
];

async function list(_given: Given, { documents }: CommandContext): Promise<CommandAnswer> {
  const endpoints = await EndpointsStore.open(documents);
  const deliveries = await DeliveriesStore.open(documents);
  const rows = [];
  for (const endpoint of await endpoints.findEveryEndpoint()) {
    const { _id: id, accountId, url, events, enabled, consecutiveFailures, disabledReason } = endpoint;
    const queued = await deliveries.countQueued(accountId, id);
    rows.push({ id, accountId, url, events, enabled, consecutiveFailures, disabledReason, queued });
  }
  const lines = rows.map(({ id, accountId, url, enabled, consecutiveFailures, disabledReason, queued }) => {
    const state = enabled ? 'enabled' : `disabled${disabledReason === null ? '' : ` (${disabledReason})`}`;
    return `${id}  ${accountId}  ${url}  ${state}  ${consecutiveFailures} failed in a row  ${queued} queued`;
  });
  const text = lines.length > 0 ? lines.join('\n') : 'No webhook endpoints.';
  return { data: { endpoints: rows }, text };
}
