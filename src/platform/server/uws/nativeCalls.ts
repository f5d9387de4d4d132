/**
 * Whether the native parser calls the gateway now. A second request in the bytes that it reads is served only when the first one was
 * answered before that call returns; otherwise the connection is closed.
 */
export const nativeCalls = { running: false }
