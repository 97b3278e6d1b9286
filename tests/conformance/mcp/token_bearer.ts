/**
 * Shows a server's token for clients that have none: the suite cannot be given one. What else they say is passed on as
 * it is, but for its own name, which stands for the server's; so the server's guards see every other one.
 */
import { createServer, request } from "node:http";

/** A listener in front of a server. */
export interface TokenBearer {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens one in front of the server at `url`. */
export async function openTokenBearer(url: string, token: string): Promise<TokenBearer> {
  const server = new URL(url);
  const names = ["localhost", "127.0.0.1", "[::1]"];
  const bearer = createServer((asked, answer) => {
    const own = names.map((name) => `${name}:${asked.socket.localPort}`);
    const given = (text: string | undefined) =>
      own.reduce((kept, name) => kept?.replace(name, server.host), text);
    const { host, origin, ...headers } = asked.headers;
    const passed = request({
      host: server.hostname,
      port: server.port,
      path: asked.url,
      method: asked.method,
      headers: {
        ...headers,
        host: given(host),
        ...(origin === undefined ? {} : { origin: given(origin) }),
        authorization: `Bearer ${token}`,
      },
    }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => bearer.listen(0, "127.0.0.1", resolve));
  const address = bearer.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://localhost:${port}${server.pathname}`,
    close: () =>
      new Promise((resolve) => {
        bearer.close(() => resolve());
        bearer.closeAllConnections();
      }),
  };
}
