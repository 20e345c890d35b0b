// Leasehold in a real browser. Each test starts the real server on a database of its own;
// `cargo xtask end2end` provides the binary (LEASEHOLD_BIN), Chromium (CHROMIUM_PATH) and, for the
// project `postgres`, a throw-away cluster (POSTGRES_TEST_DSN).
import { defineConfig, devices } from '@playwright/test';
import type { LeaseholdOptions } from './support/test';

const chromium = {
  ...devices['Desktop Chrome'],
  channel: undefined,
  launchOptions: {
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  },
};

// The first load is only worth measuring on a release build.
const releaseOnly = process.env.LEASEHOLD_RELEASE_BIN ? [] : [/first-load\.spec\.ts/];

export default defineConfig<LeaseholdOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  timeout: 60_000,
  expect: { timeout: 15_000 },
  retries: 0,
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  reporter: [['list']],
  use: { ...chromium, trace: 'retain-on-failure', locale: 'en-GB', timezoneId: 'UTC' },
  projects: [
    { name: 'sqlite', use: { dialect: 'sqlite' }, testIgnore: [/several-machines\.spec\.ts/, ...releaseOnly] },
    { name: 'postgres', use: { dialect: 'postgres' }, testIgnore: releaseOnly },
  ],
});
