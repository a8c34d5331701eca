// functions of an object whose result is made once for each
/** A function that makes what belongs to an object when it is first asked, and gives the same after that. */
export function madeOnce<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (of) => {
    const before = known.get(of);
    if (before) return before.value;
    const value = make(of);
    known.set(of, { value });
    return value;
  };
}
