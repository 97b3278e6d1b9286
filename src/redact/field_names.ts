/** Names whose value is a secret whatever it looks like (DM-50); the same idea as the preview of arguments. */

/** Whole names, in lower case and without `_`, `-`, `.` and space. */
const wholeNames: ReadonlySet<string> = new Set(
  ("authorization proxyauthorization cookie setcookie xapikey apikey password passwd pwd passphrase secret " +
    "clientsecret token accesstoken refreshtoken idtoken bearer privatekey credential credentials connectionstring " +
    "dsn sessionid otp secretkey secretaccesskey accesskey accountkey sharedaccesskey signingkey encryptionkey " +
    "xamzsignature xgoogsignature").split(" "),
);

/** Ends of longer names that say the same: `db_password`, `userToken`. The longest comes first. */
const ends = ("connectionstring sharedaccesskey credentials authorization accountkey credential passphrase " +
  "privatekey accesskey secretkey password apikey passwd secret cookie token").split(" ");

/** Last words that are too short to be looked for at the end of any name: `SENTRY_DSN`, `dbPwd`. */
const lastWords: ReadonlySet<string> = new Set(["pwd", "dsn", "otp"]);

/** Tokens that turn pages and count progress: an agent must see them to go on, and they open nothing. */
const harmless =
  /(?:next|page|continuation|cursor|sync|progress|resume|cancell?ation|stop|pad|eos|bos|unk)token$/;

/** Headers whose whole line is the value. */
const headers: ReadonlySet<string> = new Set([
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "xapikey",
]);

/** Names of secrets as marks say them. */
export const fieldLabels: ReadonlySet<string> = new Set([...wholeNames, ...ends, "url"]);

/** What of a name says that its value is a secret, as a mark may say it; undefined if nothing does. */
export function sensitivePart(name: string): string | undefined {
  if (name.length > 128) return undefined;
  const plain = plainOf(name);
  if (wholeNames.has(plain)) return plain;
  if (harmless.test(plain)) return undefined;
  const end = ends.find((one) => plain.endsWith(one));
  if (end !== undefined) return end;
  const word = name.split(/[_\-. ]|(?<=[a-z])(?=[A-Z])/).at(-1)?.toLowerCase() ?? "";
  return lastWords.has(word) ? word : undefined;
}

/** True if a value under this name is a secret: `apiKey`, `API_KEY`, `x-api-key`, `db.password`. */
export function isSensitiveName(name: string): boolean {
  return sensitivePart(name) !== undefined;
}

/** True if the name is that of a header with a secret, such as `Authorization` or `Set-Cookie`. */
export function isSecretHeader(name: string): boolean {
  return name.length <= 64 && headers.has(plainOf(name));
}

/** Literals one of which stands in every sensitive name; to be looked for in lower case. */
export const nameAnchors: readonly string[] = [
  ...["password", "passwd", "pwd", "passphrase", "secret", "token", "authorization", "cookie", "credential"],
  ...["api_key", "api-key", "apikey", "api.key", "private_key", "private-key", "privatekey", "dsn", "otp"],
  ...["connection_string", "connection-string", "connectionstring", "session_id", "session-id", "sessionid"],
  ...["access_key", "access-key", "accesskey", "account_key", "account-key", "accountkey", "bearer"],
  ...["signing_key", "signing-key", "signingkey", "encryption_key", "encryption-key", "encryptionkey"],
  ...["x-amz-signature", "x-goog-signature"],
];

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[_\-. ]/g, "");
}
