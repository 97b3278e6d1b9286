/** What a tool finds in its process: the language, texts and URLs, and nothing that keeps, starts or reaches anything. */

const permissions = ["read", "write", "net", "env", "run", "ffi", "sys", "import"] as const;

/** Gives every permission back, for a program that was started with some. Throws if one is left. */
export function revokeAll(): void {
  for (const name of permissions) {
    Deno.permissions.revokeSync({ name });
    if (Deno.permissions.querySync({ name }).state === "granted") {
      throw new Error(`Cannot run a tool: the permission "${name}" cannot be given back`);
    }
  }
}

/**
 * Globals that stay. `Deno` is one of them: without permission it does nothing to others. Away are what is kept beyond
 * the process without any permission (localStorage, caches), other threads, and the ways out that `ctx` stands for.
 */
const kept = new Set(
  ("Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp " +
    "Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl " +
    "ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array " +
    "Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet WeakRef Proxy " +
    "Reflect Iterator Atomics SharedArrayBuffer Buffer decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape AbortController " +
    "AbortSignal URL URLSearchParams URLPattern TextEncoder TextDecoder structuredClone atob btoa Headers Request " +
    "Response FormData Blob Event EventTarget DOMException ReadableStream WritableStream TransformStream crypto " +
    "console setTimeout clearTimeout setInterval clearInterval queueMicrotask performance Deno eval Temporal")
    .split(" "),
);

/** Takes all other globals away, and adds some. */
export function hideGlobals(added: { readonly [name: string]: unknown }): void {
  // What is kept is looked at first: some of it is only made then, out of what is taken away.
  for (const name of kept) void Reflect.get(globalThis, name);
  for (const name of Reflect.ownKeys(globalThis)) {
    if (typeof name === "string" && !kept.has(name)) Reflect.deleteProperty(globalThis, name);
  }
  for (const [name, value] of Object.entries(added)) {
    Object.defineProperty(globalThis, name, { value, writable: false, configurable: false });
  }
}
