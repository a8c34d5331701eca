// cases of a sweep: all of them with `test:full`; in the fast run those that show what no other fast case shows

/** Whether this is `npm run test:full`. */
export const isFull = process.env.CORRAL_FULL === "1";

/** All cases with `test:full`, else those of these names. Throws where no case has a name, which would keep nothing. */
export const sweep = <T>(
  all: readonly T[],
  few: readonly string[],
  nameOf: (one: T) => string = String,
): readonly T[] => kept(all, few, nameOf, true);

/** All cases with `test:full`, else those of other names than these. Throws where no case has a name. */
export const sweepBut = <T>(
  all: readonly T[],
  waiting: readonly string[],
  nameOf: (one: T) => string = String,
): readonly T[] => kept(all, waiting, nameOf, false);

function kept<T>(
  all: readonly T[],
  names: readonly string[],
  nameOf: (one: T) => string,
  named: boolean,
): readonly T[] {
  const unknown = names.filter((name) => !all.some((one) => nameOf(one) === name));
  if (unknown.length > 0) throw new Error(`no case of the sweep is called ${unknown.join(", ")}`);
  return isFull ? all : all.filter((one) => names.includes(nameOf(one)) === named);
}
