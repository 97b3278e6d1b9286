/** `troupe serve` by HTTP: the actor API for every program of this machine that shows the token. */
import { apiLimits } from "../../schemas/api_limits.ts";
import type { HttpServer, HttpServerOptions } from "../api/http/http_server.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import { isAddress } from "../journal/remote_address.ts";
import type { OwnerHost } from "../host/open_host.ts";
import type { Cli } from "./cli.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit.ts";
import type { OptionValues } from "./options.ts";
import { realPath, workspaceOf } from "./place.ts";
import { withProgress } from "./progress.ts";
import { openMcpFront } from "./serve_mcp.ts";
import type { ServeGiven, stdioOptions } from "./serve_stdio.ts";

const portMax = 65_535;
/** Hosts that nobody outside this machine reaches. */
const loopback = ["127.0.0.1", "::1", "localhost"] as const;

/** Where it listens, and how often it may be asked. */
export const httpOptions = {
  port: {
    kind: "number",
    value: "N",
    min: 0,
    help: "the port; default: one that is free, which the line on stdout tells",
  },
  host: { kind: "choice", choices: loopback, help: "where to listen; default: 127.0.0.1" },
  rate: {
    kind: "number",
    value: "N",
    min: 0,
    help: "requests a second to one agent by one route; 0: as many as come; default: 20",
  },
} as const;

/** Opens the store, and serves until the process is asked to end. */
export async function serveHttp(
  cli: Cli,
  given: Omit<ServeGiven, keyof typeof stdioOptions> & OptionValues<typeof httpOptions>,
  args: readonly string[],
): Promise<ExitCode> {
  const { seams, env } = cli;
  if ((given.port ?? 0) > portMax) {
    throw new UsageError("option_invalid", `The option --port takes a whole number up to ${portMax}`);
  }
  const settings = await readHostSettings(env);
  const workspace = await workspaceOf(cli, given.workspace, settings);
  const [{ openOwner }, { openFolderShelf }, { openAccess }, { openHttpServer }] = await Promise.all([
    import("../host/open_host.ts"),
    import("../api/folder_shelf.ts"),
    import("../api/access/access.ts"),
    import("../api/http/http_server.ts"),
  ]);
  const shelf = await openFolderShelf({
    agents: args,
    cwd: cli.cwd,
    workspace,
    ...(given.script === undefined ? {} : { script: await realPath(cli, given.script, "script") }),
    digest: seams.digest,
    host: { config: settings.config, env },
  });
  const location = storeLocation(given.store, env, settings);
  const host = await withProgress(cli, "opening the store", () =>
    openOwner({
      location,
      config: settings.config,
      seams,
      env,
      self: cli.self,
      isAttended: true,
      goesOn: true,
    }));
  try {
    const api = await host.openApi({ shelf, mode: given.mode ?? "default" });
    const { jwt } = settings.config.api;
    const isShared = isAddress(location);
    const authenticator = await openAccess({ host, isShared, jwt, env, seams });
    const mcp = given.mcp ? await openMcpFront(given, { api, seams }) : undefined;
    const { rate = apiLimits.rate.perSecond } = given;
    const server = await listen(openHttpServer, {
      api,
      authenticator,
      seams,
      hostname: given.host ?? "127.0.0.1",
      port: given.port ?? 0,
      mcp,
      rate: rate === 0 ? undefined : { perSecond: rate, burst: rate * 2 },
    });
    cli.terminal.err.line(`The token is in ${authenticator.path}`);
    // The line is what programs wait for, so it is the output, and says all that they need.
    cli.terminal.out.line(mcp === undefined ? server.url : `${server.url}/mcp`);
    return await serveUntilAsked(cli, server, host);
  } catch (error) {
    await host.close({ hurry: true });
    throw error;
  }
}

async function listen(
  open: (options: HttpServerOptions) => Promise<HttpServer>,
  options: HttpServerOptions,
): Promise<HttpServer> {
  try {
    return await open(options);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== "EADDRINUSE" && code !== "EACCES" && code !== "EADDRNOTAVAIL") throw error;
    const why = code === "EADDRINUSE" ? "it is in use" : "it may not be used";
    throw new UsageError(
      "option_invalid",
      `Cannot serve at port ${options.port}: ${why}; give another, or 0`,
    );
  }
}

/** Serves until the process is asked to end, and then ends in time, however much is asked for at once (F03, F04). */
async function serveUntilAsked(
  { seams: { clock, log }, onInterrupt, terminal }: Cli,
  server: HttpServer,
  host: OwnerHost,
): Promise<ExitCode> {
  const asked = Promise.withResolvers<void>();
  const late = new AbortController();
  const done = new AbortController();
  let withinMs: number = apiLimits.drainMs;
  const lateIn = (ms: number) => {
    withinMs = ms;
    clock.sleepUntil(clock.now() + ms, done.signal).then(() => done.signal.aborted || late.abort());
  };
  let times = 0;
  const stop = onInterrupt(() => {
    if (++times === 1) terminal.err.line("Ending: what was accepted is answered first");
    lateIn(times === 1 ? apiLimits.drainMs : apiLimits.hurriedDrainMs);
    asked.resolve();
  });
  await asked.promise;
  const tooLate = new Promise<void>((resolve) => late.signal.addEventListener("abort", () => resolve()));
  await server.drain(late.signal);
  const closed = host.close({ hurry: late.signal.aborted });
  if (!late.signal.aborted) await Promise.race([closed, tooLate]);
  // Somebody may still wait at the door, or a disk may not answer: that much more, and no more.
  if (late.signal.aborted) {
    await Promise.race([closed, clock.sleepUntil(clock.now() + apiLimits.farewellMs, done.signal)]);
  } else await closed;
  done.abort();
  stop();
  log({ level: "info", event: "shutdown", detail: { within_ms: withinMs, in_time: !late.signal.aborted } });
  return exitCodes.ok;
}
