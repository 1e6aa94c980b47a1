import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  numberedListBlock,
  paragraphBlock,
  samplesBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const clusterGuide: DocumentationPage = {
  title: 'From one machine to a cluster',
  lead: 'One command runs the service on one machine; MongoDB, Redis and S3 carry it on many. Nothing changes for callers.',
  blocks: [
    headingBlock('One machine'),
    paragraphBlock(
      'Without settings, documents, coordination and files lie in `./data`. A host runs one process per core, and each keeps its own threads for pixels.',
    ),
    shellSampleBlock('npm ci && npm start'),
    headingBlock('When to move'),
    listBlock(
      'More calls than the cores of one machine can take: the answers are `provider_unavailable` with the reason `capacity`.',
      'A machine may fail without an outage.',
      'The pictures outgrow the disk.',
    ),
    headingBlock('The stores of a cluster'),
    paragraphBlock(
      'MongoDB 6 or later as a replica set, Redis with `appendonly yes` and `maxmemory-policy noeviction`, and a bucket. Write their settings into a file, with the keys of the bucket.',
    ),
    samplesBlock({
      label: 'cluster.env',
      language: 'sh',
      code: `MONGODB_URL=mongodb://mongodb:27017/darkroom?replicaSet=rs0
REDIS_URL=redis://redis:6379
S3_BUCKET=darkroom
S3_ENDPOINT=http://objects:9000`,
    }),
    headingBlock('The move'),
    numberedListBlock(
      'Stop the service.',
      '`npm run admin -- migrate --to cluster.env` shows both sides, copies all documents and objects, and compares them by counts and checksums. It may be stopped; the next run goes on where it was.',
      'Start each host with the settings of `cluster.env`. Hosts share jobs and deliveries, and a request may go to any of them.',
    ),
    shellSampleBlock('npm run admin -- migrate --to cluster.env'),
    paragraphBlock(
      'The same command leads back: with the settings of the cluster in the environment, and a file that names `DATA_DIR` alone.',
    ),
    headingBlock('Behind a proxy'),
    listBlock(
      '`PUBLIC_URL` is the address that links begin with.',
      '`TRUST_PROXY` names the proxy whose X-Forwarded-For names the client.',
      '`/readyz` says whether a host takes calls, `/healthz` whether its process answers, `/metrics` what it does.',
    ),
  ],
};
