// a page has no folders

export const bundleFolder = (): string => "";
