// the memory of a module

/** Pages of 64 KiB that a memory may have. */
export const MOST_PAGES = 65536;
