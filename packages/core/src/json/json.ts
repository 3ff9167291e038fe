/** A value that survives JSON unchanged. All of Longhaul's own state is made of it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };
