/** What an operator can do with the tokens of a store, whoever holds it. */
import type { TokenId, TokenView } from "../../schemas/access.ts";
import { apiLimits } from "../../schemas/api_limits.ts";
import type { ApiScope } from "../../schemas/api_scope.ts";
import type { Principal } from "../../schemas/principal.ts";
import type { TokenDesk } from "../api/access/token_desk.ts";
import type { Kernel } from "../kernel/kernel.ts";

/** A token that is wanted. */
export interface TokenOrder {
  readonly principal: Principal;
  readonly scopes: readonly ApiScope[];
  /** In milliseconds since the epoch; null: until it is revoked. */
  readonly expiresAt: number | null;
}

/** A token with its secret, which is told this once. */
export interface IssuedToken {
  readonly token: TokenView;
  readonly secret: string;
}

/** Changes of the tokens of a store. */
export interface HostTokens {
  issueToken(order: TokenOrder): Promise<IssuedToken>;
  /** Another secret for the same rights; the old one opens for 24 h more. */
  rotateToken(token: TokenId, expiresAt: number | null): Promise<IssuedToken>;
  /** Resolves once that is durable. What is being answered to the token ends at once. */
  revokeToken(token: TokenId): Promise<TokenView>;
}

/** The desk of a runtime: made when it is needed first, since most commands need none. */
export class LazyTokens {
  readonly #kernel: Kernel;
  #desk: Promise<TokenDesk> | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** The one desk of this runtime. A failure is told to who asked, and the next one tries again. */
  readonly open = (): Promise<TokenDesk> => {
    const opened = this.#desk ??= import("../api/access/token_desk.ts").then(({ openTokenDesk }) =>
      openTokenDesk(this.#kernel)
    );
    opened.catch(() => this.#desk = undefined);
    return opened;
  };

  readonly methods: HostTokens = {
    issueToken: async (order) => await (await this.open()).issue(order),
    rotateToken: async (token, expiresAt) => await (await this.open()).rotate(token, expiresAt),
    revokeToken: async (token) => await (await this.open()).revoke(token),
  };

  /** Writes down what is not written yet. In a hurry it is waited for no longer than for last words. */
  async close(hurry: boolean): Promise<void> {
    const desk = this.#desk;
    if (desk === undefined) return;
    const closed = desk.then((one) => one.close(), () => {});
    if (!hurry) return await closed;
    const { clock } = this.#kernel.seams;
    const enough = new AbortController();
    await Promise.race([closed, clock.sleepUntil(clock.now() + apiLimits.farewellMs, enough.signal)]);
    enough.abort();
  }
}
