/**
 * The issued tokens of one store: who shows one is who it was issued to, with the rights that its record has at that
 * moment. Every change is a message to the audit, and counts once it is durable; a revocation counts at once.
 */
import { allowedScopes, isValid } from "../../../actors/access.ts";
import {
  type AuditMessage,
  TokenId,
  type TokenRecord,
  TokenReply,
  type TokenView,
} from "../../../schemas/access.ts";
import { accessLimits } from "../../../schemas/access_limits.ts";
import { localOperator, principalText } from "../../../schemas/principal.ts";
import { bear } from "../../births.ts";
import { createApiToken, isSameDigest } from "../../door/token.ts";
import type { IssuedToken, TokenOrder } from "../../host/host_tokens.ts";
import { submit } from "../../kernel/command.ts";
import { type Kernel, KernelError } from "../../kernel/kernel.ts";
import { begin, patiently } from "../../kernel/patience.ts";
import { offer } from "../../kernel/route.ts";
import { looksOwn } from "../../redact/own_tokens.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator, Refused, RequestHead } from "../authenticator.ts";
import type { Caller } from "../caller.ts";
import { bearerOf, tokenInvalid } from "../token_file.ts";
import { Refusals } from "./refusals.ts";
import { auditAddress, findAudit, TokenFold } from "./token_fold.ts";

/** The issued tokens of one runtime. */
export class TokenDesk implements Authenticator {
  readonly #kernel: Kernel;
  readonly #audit: string;
  readonly #fold = new TokenFold();
  readonly #refusals: Refusals;
  /** What ends the streams of a token. */
  readonly #streams = new Map<TokenId, AbortController>();
  /** Revoked here, whether or not that is durable yet. */
  readonly #revoked = new Set<TokenId>();
  readonly #closed = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  /** Resolves once what was refused last is durable. */
  #told: Promise<void> = Promise.resolve();
  #alarm = new AbortController();

  /** See {@linkcode openTokenDesk}. */
  constructor(kernel: Kernel, audit: string) {
    this.#kernel = kernel;
    this.#audit = audit;
    this.#refusals = new Refusals(
      kernel.seams.clock,
      (told) => void (this.#told = this.#tell({ type: "access.refused", ...told })),
    );
  }

  async authenticate({ authorization }: RequestHead): Promise<Caller | ApiFailure> {
    const shown = bearerOf(authorization);
    if (!looksOwn(shown)) return tokenInvalid();
    const digest = await this.#kernel.seams.digest(new TextEncoder().encode(shown));
    const now = this.#kernel.seams.clock.now();
    let found: TokenRecord | undefined;
    // All of them, to the end, so that time tells nothing (B15).
    for (const one of this.#fold.tokens) if (isSameDigest(one.digest, digest)) found = one;
    if (found === undefined || !isValid(found, now) || this.#revoked.has(found.id)) return tokenInvalid();
    this.#noteUse(found, now);
    const { principal, scopes } = found;
    return { principal, scopes: new Set(allowedScopes(principal, scopes)), ended: this.#endOf(found.id) };
  }

  onRefused(refused: Refused): void {
    this.#refusals.note(refused);
  }

  async issue({ principal, scopes, expiresAt }: TokenOrder): Promise<IssuedToken> {
    const { secret, ...fresh } = await this.#fresh(expiresAt);
    const order = { ...fresh, principal, scopes: [...scopes], by: localOperator };
    return { token: await this.#ask({ type: "token.issue", ...order }), secret };
  }

  async rotate(token: TokenId, expiresAt: number | null): Promise<IssuedToken> {
    const { secret, ...next } = await this.#fresh(expiresAt);
    return { token: await this.#ask({ type: "token.rotate", token, next, by: localOperator }), secret };
  }

  /** Ends a token at once, with all that is being answered to it. */
  async revoke(token: TokenId): Promise<TokenView> {
    if (this.#fold.tokens.some(({ id }) => id === token)) {
      this.#revoked.add(token);
      this.#end(token);
    }
    return await this.#ask({ type: "token.revoke", token, by: localOperator });
  }

  /** Writes down what was refused until now; resolves once that is durable, or the store takes nothing. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#alarm.abort();
    this.#refusals.close();
    this.#kernel.journal.writer.urge();
    const { log } = this.#kernel.seams;
    await patiently(this.#kernel, this.#told).catch((error) =>
      log({ level: "warning", event: "audit.lost", detail: { why: String(error) } })
    );
  }

  async #fresh(expiresAt: number | null) {
    const { clock, digest, nextId } = this.#kernel.seams;
    if (expiresAt !== null && expiresAt <= clock.now()) {
      throw new KernelError("token_expired", "This token would have ended already: give a later time");
    }
    const secret = await createApiToken();
    const id = TokenId.parse(nextId("tok"));
    return { id, secret, digest: await digest(new TextEncoder().encode(secret)), expiresAt };
  }

  /** Resolves once the change is durable, and counts here. */
  async #ask(message: AuditMessage): Promise<TokenView> {
    const ref = { principal: principalText(localOperator), key: this.#kernel.seams.nextId("cmd") };
    const { accepted, reply } = await submit(this.#kernel, {
      root: this.#audit,
      message: message as never,
      ref,
      isFresh: true,
    });
    await accepted();
    const told = TokenReply.parse((await reply).value);
    await this.advance();
    if (told.result === "done") return told.token;
    throw new KernelError(told.code, told.message);
  }

  /** Takes what is new in the stream. */
  advance(): Promise<void> {
    const { journal } = this.#kernel;
    this.#reading = this.#reading.then(async () => {
      for await (const page of journal.readPages(this.#audit, this.#fold.seq + 1)) {
        for (const entry of page) this.#fold.take(entry);
      }
      this.#endWhatEnded();
    });
    return this.#reading;
  }

  /** Ends the streams of tokens that open nothing any more, and wakes again for the next one that ends by itself. */
  #endWhatEnded(): void {
    const { clock } = this.#kernel.seams;
    const now = clock.now();
    let next = Infinity;
    for (const token of this.#fold.tokens) {
      if (!isValid(token, now)) this.#end(token.id);
      else if (this.#streams.has(token.id)) next = Math.min(next, token.expiresAt ?? Infinity);
    }
    this.#alarm.abort();
    if (next === Infinity || this.#closed.signal.aborted) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    clock.sleepUntil(next, alarm.signal).then(() => alarm.signal.aborted || this.#endWhatEnded());
  }

  #endOf(token: TokenId): AbortSignal {
    const known = this.#streams.get(token);
    if (known !== undefined) return known.signal;
    const stream = new AbortController();
    this.#streams.set(token, stream);
    this.#endWhatEnded();
    return stream.signal;
  }

  #end(token: TokenId): void {
    this.#streams.get(token)?.abort();
    this.#streams.delete(token);
  }

  /** Once an hour: a use is no news, and a journal is no counter. */
  #noteUse({ id, usedAt }: TokenRecord, now: number): void {
    const hour = now - now % accessLimits.usedEveryMs;
    if (usedAt !== null && usedAt >= hour || this.#closed.signal.aborted) return;
    const message = { type: "token.used", token: id, usedAt: hour } as const;
    this.#fold.tokens = this.#fold.tokens.map((one) => one.id === id ? { ...one, usedAt: hour } : one);
    this.#tell(message);
  }

  /** Tells the audit what happened. Resolves once that is durable; nobody has to wait for it. */
  #tell(message: AuditMessage): Promise<void> {
    const [kernel, audit] = [this.#kernel, this.#audit];
    const { promise, resolve } = Promise.withResolvers<void>();
    try {
      if (kernel.records.get(audit)?.status !== "active") throw new Error("the audit is out of service");
      offer(kernel, audit, { kind: "input", body: { message: message as never }, onAccepted: resolve });
    } catch (error) {
      const detail = { type: message.type, why: String(error) };
      kernel.seams.log({ level: "warning", event: "audit.lost", detail });
      resolve();
    }
    return promise;
  }
}

/** Reads the tokens of a store, and makes the record of access if there is none. */
export async function openTokenDesk(kernel: Kernel): Promise<TokenDesk> {
  const { journal } = kernel;
  if (journal.ownership.isShared) {
    throw new KernelError(
      "tokens_not_shared",
      "A store that several processes share issues no tokens: use the token file, or api.jwt in troupe.yaml",
    );
  }
  const audit = await findAudit(journal, kernel.records.values()) ?? await createAudit(kernel);
  const desk = new TokenDesk(kernel, audit);
  await desk.advance();
  return desk;
}

async function createAudit(kernel: Kernel): Promise<string> {
  const { records, journal: { format }, seams } = kernel;
  const address = records.has(auditAddress) ? `audit/${seams.nextId("aud")}` : auditAddress;
  const { installation } = format;
  const input = { address, ...(installation === undefined ? {} : { installation }) };
  await begin(kernel, () => bear(kernel, "audit", input, { title: "who may use the API, and who tried" }));
  return address;
}
