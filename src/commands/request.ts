/** A command that somebody wants to run, and the place where it would run. */

/** A command: its arguments, or a text for a shell; exactly one of them. */
export interface CommandRequest {
  /** The program and its arguments, which no shell reads. */
  readonly argv?: readonly string[];
  /** A text that a shell would read. */
  readonly shell?: string;
  /** Absolute, and without links. */
  readonly cwd: string;
  /** What the child's environment gets besides what every child has. */
  readonly env: { readonly [name: string]: string };
  readonly timeoutMs: number;
  /** Set if it shall run in the background. */
  readonly background?: {
    /** True if nobody waits for it. */
    readonly detached: boolean;
    /** After so long without output it is ended. Milliseconds. */
    readonly idleMs?: number;
  };
}

/** Where it would run. */
export interface CommandGround {
  /** The root of the workspace: absolute, and without links. */
  readonly workspace: string;
  /** The home of whoever owns this machine: never deleted. Absolute. */
  readonly home: string;
  readonly digest: (bytes: Uint8Array) => Promise<string>;
}
