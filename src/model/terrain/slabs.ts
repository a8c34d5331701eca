// slopes of ground of boxes: tilted boxes. A pit is four of them, since where two cross the higher one is the ground; a
// pyramid is strips around its level top, with a level box where strips of two sides meet

/** How thick slabs are (m). */
const THICK = 1;
/** The widest strip of a pyramid (m). */
const STRIP = 0.4;

/** A box about a patch's centre, or the terrain's (m). */
export interface GroundBox {
  readonly pos: readonly [number, number, number];
  readonly half: readonly [number, number, number];
  readonly quat?: readonly [number, number, number, number];
}

/** How high ground is at a point, and how it rises along x and y. */
export type Incline = (x: number, y: number) => readonly [height: number, dx: number, dy: number];

/** Tilted boxes, and the ground that their tops are. */
export interface Slabs {
  readonly boxes: readonly GroundBox[];
  readonly at: Incline;
}

type Side = readonly [axis: 0 | 1, sign: 1 | -1];
const SIDES: readonly Side[] = [
  [0, 1],
  [0, -1],
  [1, 1],
  [1, -1],
];

const level = (x: number, y: number, halves: readonly [number, number], top: number): GroundBox => ({
  pos: [x, y, top - THICK / 2],
  half: [...halves, THICK / 2],
});

/** A slab whose top goes from a height at a distance from the centre to another, towards a side. */
function tilted(
  [axis, sign]: Side,
  from: number,
  to: number,
  heights: readonly [number, number],
  wide: number,
): GroundBox {
  const [run, rise] = [to - from, heights[1] - heights[0]];
  const angle = Math.atan2(rise, run);
  const out = sign * ((from + to) / 2 + (Math.sin(angle) * THICK) / 2);
  const up = (heights[0] + heights[1]) / 2 - (Math.cos(angle) * THICK) / 2;
  const long = Math.hypot(run, rise) / 2;
  // about y towards -z for x, about x towards z for y
  const [c, s] = [Math.cos(angle / 2), sign * Math.sin(angle / 2)];
  return axis === 0
    ? { pos: [out, 0, up], half: [long, wide, THICK / 2], quat: [c, 0, -s, 0] }
    : { pos: [0, out, up], half: [wide, long, THICK / 2], quat: [c, s, 0, 0] };
}

/** Up out of a pit (1) or down from a pyramid (-1) by an angle (rad), to height 0 at the border. */
export function slopeSlabs(
  sign: 1 | -1,
  angle: number,
  { half, middle }: Readonly<Record<"half" | "middle", number>>,
): Slabs {
  const rise = sign * Math.tan(angle);
  const heightAt = (r: number) => rise * (r - half);
  const incline = (axis: 0 | 1, x: number, y: number): readonly [number, number, number] => {
    const along = [x, y][axis];
    const slope = rise * Math.sign(along);
    return [heightAt(Math.abs(along)), axis === 0 ? slope : 0, axis === 1 ? slope : 0];
  };
  // without a level middle there is no box of it, and none beside it
  const solid = (boxes: readonly GroundBox[]) => boxes.filter(({ half: halves }) => Math.min(...halves) > 0);
  const top = level(0, 0, [middle, middle], heightAt(middle));
  const isIn = (x: number, y: number) => Math.max(Math.abs(x), Math.abs(y)) <= middle;
  const steeper = (x: number, y: number) => (Math.abs(x) >= Math.abs(y) ? 0 : 1);
  if (sign > 0)
    return {
      boxes: solid([top, ...SIDES.map((side) => tilted(side, middle, half, [heightAt(middle), 0], half))]),
      at: (x, y) => (isIn(x, y) ? [heightAt(middle), 0, 0] : incline(steeper(x, y), x, y)),
    };
  const count = Math.max(1, Math.ceil((half - middle) / STRIP));
  const line = (i: number) => middle + ((half - middle) * i) / count;
  const strips = Array.from({ length: count }, (_, i) => {
    const [from, to] = [line(i), line(i + 1)];
    const [at, wide] = [(from + to) / 2, (to - from) / 2];
    const corners = [1, -1].flatMap((x) => [1, -1].map((y) => level(x * at, y * at, [wide, wide], heightAt(to))));
    return [...SIDES.map((side) => tilted(side, from, to, [heightAt(from), heightAt(to)], from)), ...corners];
  });
  const stripOf = (x: number) => Math.floor((count * (Math.abs(x) - middle)) / (half - middle));
  return {
    boxes: solid([top, ...strips.flat()]),
    at: (x, y) => {
      if (isIn(x, y)) return [heightAt(middle), 0, 0];
      if (stripOf(x) === stripOf(y)) return [heightAt(line(stripOf(x) + 1)), 0, 0];
      return incline(steeper(x, y), x, y);
    },
  };
}
