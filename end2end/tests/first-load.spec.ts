// The release build's figures. Runs when LEASEHOLD_RELEASE_BIN names it.
import { readFile } from 'node:fs/promises';
import { expect, test } from '../support/test';
import { signIn } from '../support/pages';

const release = process.env.LEASEHOLD_RELEASE_BIN ?? '';
const KIB = 1024;

test('the first load of the overview weighs at most 200 KiB over the wire', async ({ people: _, serve, page, visit }) => {
  const server = await serve({ binary: release });
  await signIn(page, server.url);
  const fresh = await visit({ storageState: await page.context().storageState() });
  const devtools = await fresh.context().newCDPSession(fresh);
  await devtools.send('Network.enable');
  let bytes = 0;
  devtools.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
  await fresh.goto(page.url(), { waitUntil: 'load' });
  await expect(fresh.getByRole('status').filter({ hasText: 'Live' }).first()).toBeVisible();
  console.log(`first load: ${(bytes / KIB).toFixed(1)} KiB`);
  expect(bytes).toBeLessThanOrEqual(200 * KIB);
});

test('the idle server needs less than 64 MiB and starts within half a second', async ({ people: _, serve }) => {
  const start = performance.now();
  const server = await serve({ binary: release });
  const took = performance.now() - start;
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
  const resident = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * KIB;
  console.log(`start ${took.toFixed(0)} ms, idle memory ${(resident / KIB / KIB).toFixed(1)} MiB`);
  expect(took).toBeLessThan(500);
  expect(resident).toBeLessThan(64 * KIB * KIB);
});
