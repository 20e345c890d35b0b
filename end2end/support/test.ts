// The fixtures: a database, servers on it, and pages that are watched.
//
// Every page of every test is watched: a console error, an uncaught exception or a violation of the
// content security policy fails the test, whatever it was about.
import { type BrowserContext, type BrowserContextOptions, type Page, expect, test as base } from '@playwright/test';
import { type Database, type Dialect, freshDatabase } from './database';
import { Leasehold, type Options, administer } from './leasehold';

export type LeaseholdOptions = { dialect: Dialect };

export const ADMIN = { name: 'Ada Admin', email: 'ada@example.org', password: 'correct horse battery' };
export const TENANT = { name: 'Acme', slug: 'acme' };

/** What the browser complained about; a test that provokes complaints allows them by name. */
export class Complaints {
  private readonly heard: string[] = [];
  private readonly allowed: RegExp[] = [];

  allow(pattern: RegExp): void {
    this.allowed.push(pattern);
  }

  hear(text: string): void {
    this.heard.push(text);
  }

  get unexpected(): string[] {
    return this.heard.filter((text) => !this.allowed.some((pattern) => pattern.test(text)));
  }
}

type Fixtures = {
  database: Database;
  complaints: Complaints;
  /** Starts a server on the test's database. */
  serve: (options?: Options) => Promise<Leasehold>;
  /** Starts a worker without a dashboard on the test's database. */
  work: (options?: Options) => Promise<Leasehold>;
  /** A tenant and its administrator, made on the command line. */
  people: void;
  /** A page of a browser of its own. */
  visit: (options?: BrowserContextOptions) => Promise<Page>;
};

export const test = base.extend<LeaseholdOptions & Fixtures>({
  dialect: ['sqlite', { option: true }],

  database: async ({ dialect }, use) => {
    const database = await freshDatabase(dialect);
    await use(database);
    await database.remove();
  },

  serve: async ({ database }, use, info) => {
    await running(info, use, (options) => Leasehold.serve(database.url, options));
  },

  work: async ({ database }, use, info) => {
    await running(info, use, (options) => Leasehold.worker(database.url, options));
  },

  people: async ({ database }, use) => {
    await administer(database.url, ['tenant', 'add', TENANT.name, '--slug', TENANT.slug]);
    const words = ['user', 'add', ADMIN.email, '--role', 'super_admin', '--password-stdin'];
    await administer(database.url, words, `${ADMIN.password}\n`);
    await use();
  },

  complaints: async ({}, use) => {
    const complaints = new Complaints();
    await use(complaints);
    expect(complaints.unexpected, 'console errors, exceptions and CSP violations').toEqual([]);
  },

  context: async ({ context, complaints }, use) => {
    await watch(context, complaints);
    await use(context);
  },

  visit: async ({ browser, complaints }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (options) => {
      const context = await browser.newContext(options);
      contexts.push(context);
      await watch(context, complaints);
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },
});

export { expect };

async function watch(context: BrowserContext, complaints: Complaints): Promise<void> {
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.hear(`${message.page()?.url()}: ${message.text()}`);
  });
  context.on('weberror', (error) => complaints.hear(`uncaught: ${error.error().message}`));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (violation) => {
      console.error(`CSP: ${violation.violatedDirective} blocked ${violation.blockedURI} (${violation.sample})`);
    });
  });
}

type Attach = { attach: (name: string, options: { body: string; contentType: string }) => Promise<void> };

async function running(
  info: Attach & { status?: string; expectedStatus: string },
  use: (start: (options?: Options) => Promise<Leasehold>) => Promise<void>,
  start: (options?: Options) => Promise<Leasehold>,
): Promise<void> {
  const started: Leasehold[] = [];
  await use(async (options) => {
    const process = await start(options);
    started.push(process);
    return process;
  });
  for (const [index, process] of started.entries()) {
    await process.stop();
    if (info.status !== info.expectedStatus) {
      await info.attach(`leasehold-${index}.log`, { body: process.output, contentType: 'text/plain' });
    }
  }
}
