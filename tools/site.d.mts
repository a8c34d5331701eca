/** Files of the demo site by path. */
export function buildSite(): Promise<Readonly<Record<string, string | Uint8Array>>>;
