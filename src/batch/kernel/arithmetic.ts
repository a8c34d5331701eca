// what kernels may compute in

export const ARITHMETIC = ["float32", "float64"] as const;
export type Arithmetic = (typeof ARITHMETIC)[number];
