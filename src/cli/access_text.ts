/** What entries of an audit say, in one line for people. */
import { AuditMessage, TokenReply } from "../../schemas/access.ts";
import { principalText } from "../../schemas/principal.ts";
import { timeText } from "./table.ts";

/** A message that an audit took; undefined if it is none. */
export function accessText(value: unknown): string | undefined {
  const message = AuditMessage.safeParse(value).data;
  switch (message?.type) {
    case "token.issue": {
      const { id, principal, scopes, expiresAt } = message;
      return `${id} for ${principalText(principal)} ${untilText(expiresAt)}: ${scopes.join(", ")}`;
    }
    case "token.rotate":
      return `${message.next.id} in place of ${message.token} ${untilText(message.next.expiresAt)}`;
    case "token.revoke":
    case "token.used":
      return message.token;
    case "access.refused": {
      const { refusals, more } = message;
      const told = refusals.map(({ count, code, peer, principal, method }) =>
        [
          `${count} x ${code}`,
          ...(principal === undefined ? [] : [principal]),
          ...(method === undefined ? [] : [method]),
        ]
          .join(" ") + ` from ${peer}`
      );
      return [...told, ...(more === 0 ? [] : [`${more} others`])].join("; ");
    }
    default:
      return undefined;
  }
}

/** How an audit answered; undefined if it is no such answer. */
export function tokenReplyText(value: unknown): string | undefined {
  const reply = TokenReply.safeParse(value).data;
  if (reply === undefined) return undefined;
  return reply.result === "done" ? `done: ${reply.token.id}` : `refused: ${reply.message}`;
}

function untilText(expiresAt: number | null): string {
  return expiresAt === null ? "until it is revoked" : `until ${timeText(expiresAt)}`;
}
