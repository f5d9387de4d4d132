/**
 * Where the page is: a reverse proxy may put the gateway below any path, so nothing here begins at the root of the address. The index
 * carries a `<base>` relative to its own address; all other addresses follow from it.
 */
const dashboard = new URL(document.baseURI)

/** Path of the dashboard without the last slash, such as `/a/b/dashboard`. */
export const basePath = dashboard.pathname.replace(/\/$/, "")

/** Root of the gateway with its last slash. */
export const gateway = new URL("..", dashboard)

/** An address of the gateway: `/api/x` is below its root, wherever that is. */
export const urlOf = (path: string): URL => new URL(path.replace(/^\/+/, ""), gateway)

/** The gateway's address as a person would write it. */
export const gatewayAddress = gateway.href.replace(/\/$/, "")

/** Key holders have a page of their own, outside of the operator's session. */
export const isOwnPage = (path: string): boolean => path.replace(/\/$/, "") === `${basePath}/me`
