// The real binary: started, read along, and ended by its process id.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const root = resolve(__dirname, '..', '..');

export const binary = process.env.LEASEHOLD_BIN ?? join(root, 'target', 'debug', 'leasehold');

const PATIENCE = 30_000;

export type Options = { arguments?: string[]; environment?: Record<string, string>; binary?: string };

// Nothing of the developer's own settings may reach the server under test.
function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const clean = Object.entries(process.env).filter(([name]) => !/^(JOBS_|DATABASE_URL|RUST_LOG)/.test(name));
  return { ...Object.fromEntries(clean), RUST_LOG: 'info', ...extra };
}

/** Runs one administrative command to its end, for instance `user add …`. */
export function administer(database: string, words: string[], input = ''): Promise<string> {
  return new Promise((done, failed) => {
    const child = execFile(
      binary,
      [...words, '--db', database],
      { cwd: root, env: environment(), timeout: PATIENCE },
      (error, stdout, stderr) => (error ? failed(new Error(`${words.join(' ')}: ${stderr}`)) : done(stdout)),
    );
    // A command that reads nothing may have ended before this is written; how it ended is told above.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** A running `leasehold serve` or `leasehold worker`. */
export class Leasehold {
  private child: ChildProcess | undefined;
  private readonly said: string[] = [];
  private readonly listeners = new Set<() => void>();
  private address = '127.0.0.1:0';

  constructor(
    private readonly database: string,
    private readonly role: 'serve' | 'worker',
    private readonly options: Options,
  ) {}

  static async serve(database: string, options: Options = {}): Promise<Leasehold> {
    const server = new Leasehold(database, 'serve', options);
    await server.start();
    return server;
  }

  static async worker(database: string, options: Options = {}): Promise<Leasehold> {
    const worker = new Leasehold(database, 'worker', options);
    await worker.start();
    return worker;
  }

  get url(): string {
    return `http://${this.address}`;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get output(): string {
    return this.said.join('\n');
  }

  /** The one-time link that is printed while nobody can sign in yet. */
  setupLink(): Promise<string> {
    return this.line(/Set up Leasehold: (http:\/\/\S+)/);
  }

  /** A second start keeps the port, so that open pages find the server again. */
  async start(): Promise<void> {
    this.said.length = 0;
    const listen = this.role === 'serve' ? ['--addr', this.address] : [];
    const words = [this.role, ...listen, '--db', this.database, ...(this.options.arguments ?? [])];
    this.child = spawn(this.options.binary ?? binary, words, {
      cwd: root,
      env: environment(this.options.environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.hear(line));
    }
    this.child.once('exit', () => this.hear('(the process ended)'));
    if (this.role === 'serve') {
      this.address = await this.line(/listening on http:\/\/([\w.:]+)/i);
    }
  }

  /** `kill -9`: no goodbye, nothing is handed back. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const impatient = setTimeout(() => child.kill('SIGKILL'), PATIENCE / 2);
    await ended;
    clearTimeout(impatient);
  }

  private hear(line: string): void {
    this.said.push(line);
    // Enough to explain a failure, never enough to fill the memory.
    if (this.said.length > 2_000) this.said.shift();
    for (const listener of this.listeners) listener();
  }

  /** The first group of the first line that matches, now or later. */
  private line(pattern: RegExp): Promise<string> {
    return new Promise((found, failed) => {
      const finish = (act: () => void) => {
        clearTimeout(timer);
        this.listeners.delete(look);
        act();
      };
      const look = () => {
        const match = this.said.map((line) => pattern.exec(line)).find((hit) => hit !== null);
        if (match?.[1]) finish(() => found(match[1] as string));
        else if (this.said.at(-1) === '(the process ended)') finish(() => failed(this.silence(pattern)));
      };
      const timer = setTimeout(() => finish(() => failed(this.silence(pattern))), PATIENCE);
      this.listeners.add(look);
      look();
    });
  }

  private silence(pattern: RegExp): Error {
    return new Error(`leasehold ${this.role} never printed ${pattern}; it said:\n${this.output}`);
  }
}
