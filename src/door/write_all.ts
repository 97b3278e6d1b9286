/** Writes to a connection: all of it. */

/** Writes all of `bytes`. */
export async function writeAll(connection: Pick<Deno.Conn, "write">, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await connection.write(bytes.subarray(written));
}
