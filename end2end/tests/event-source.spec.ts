// A browser's own EventSource on the streams of the API: signed in, and with a token.
import type { Page } from '@playwright/test';
import { administer } from '../support/leasehold';
import { enqueueImport, signIn } from '../support/pages';
import { TENANT, expect, test } from '../support/test';

type Heard = { events: string[]; data: string[]; state: number };

/** Opens an EventSource on the page and leaves what it hears in `window.heard`. */
async function listen(page: Page, url: string): Promise<void> {
  await page.evaluate((address) => {
    const heard: { events: string[]; data: string[]; state: number } = { events: [], data: [], state: 0 };
    const source = new EventSource(address);
    const hear = (event: MessageEvent) => {
      heard.events.push(event.type);
      heard.data.push(String(event.data));
    };
    for (const name of ['hello', 'snapshot', 'resync', 'message']) source.addEventListener(name, hear);
    source.addEventListener('error', () => (heard.state = source.readyState));
    Object.assign(window, { heard, source });
  }, url);
}

function heard(page: Page): Promise<Heard> {
  return page.evaluate(() => (window as unknown as { heard: Heard }).heard);
}

test('an EventSource on a signed-in page hears what happens', async ({ people: _, serve, page }) => {
  const server = await serve();
  await signIn(page, server.url);
  const job = await enqueueImport(page, server.url, { seconds: 1, rows: 20 });
  await job.shows(/completed/i);
  await listen(page, `/api/v1/jobs/events/stream?tenant=${TENANT.slug}&after_id=0`);
  await expect.poll(async () => (await heard(page)).events[0]).toBe('hello');
  await expect.poll(async () => (await heard(page)).data.join()).toContain('"kind":"job.completed"');
  await listen(page, `/api/v1/jobs/${job.number}/events?tenant=${TENANT.slug}`);
  await expect.poll(async () => (await heard(page)).events.slice(0, 2)).toEqual(['snapshot', 'message']);
  // The job has ended, and so does the stream: the browser comes back, is answered 204, and stays away.
  await expect.poll(async () => (await heard(page)).state).toBe(2);
});

test('a token opens a stream for a page nobody is signed in on', async ({ people: _, database, serve, page, complaints }) => {
  complaints.allow(/401|token/);
  const server = await serve();
  const key = await administer(database.url, ['key', 'add', '--tenant', TENANT.slug, '--name', 'page', '--scope', 'read']);
  const made = await page.request.post(`${server.url}/api/v1/jobs/events/token`, {
    headers: { 'X-API-KEY': key.trim() },
    data: {},
  });
  expect(made.status()).toBe(201);
  const { url } = (await made.json()) as { url: string };
  await page.goto(`${server.url}/login`);
  await listen(page, url);
  await expect.poll(async () => (await heard(page)).events).toEqual(['hello']);
  await listen(page, `${url}0`);
  await expect.poll(async () => (await heard(page)).state, 'a changed token opens nothing').toBe(2);
});
