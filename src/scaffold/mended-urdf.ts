// URDFs that MuJoCo refuses and other simulators take, mended where a mend is small and said
import { inLine } from "../core/show.ts";
import { TAG } from "../model/nesting.ts";
import { withCompiler, withoutComments } from "../model/urdf.ts";

/** A text, and in words what was changed. */
export interface Mended {
  readonly text: string;
  readonly note: string;
}

/** Inertia of a link that has none: of a solid ball of its mass and this radius (m), and at least so much (kg m^2). */
const BALL = 0.05;
const LEAST_INERTIA = 1e-9;
/** Least mass (kg) and inertia (kg m^2) of bodies that move. */
const BOUNDS = { boundmass: "1e-3", boundinertia: "1e-6" };

/** A link that says something. */
const LINK = /<link\b[^>]*\bname\s*=\s*["']([^"']*)["'](?:[^>]*[^>/])?>[^]*?<\/link>/g;
const INERTIA = /<inertia\b[^>]*>/;
/** What a size that is 0 becomes (m). */
const LEAST_SIZE = "0.001";
const SIZE = /(\b(?:radius|length|size)\s*=\s*["'])([^"']*)(["'])/g;
const COLLISION = /<collision\b[^>]*>[^]*?<\/collision>/g;

function numberOf(tag: string, attribute: string): number {
  const [, value] = new RegExp(`\\b${attribute}\\s*=\\s*["']([^"']*)["']`).exec(tag) ?? [];
  return value === undefined ? 0 : Number(value);
}

/** Whether a symmetric matrix of three rows is positive definite, by its leading minors. */
function isPositive(tag: string): boolean {
  const [xx, xy, xz, yy, yz, zz] = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"].map((name) => numberOf(tag, name));
  // of links of a few grams a determinant is far below what MuJoCo takes for zero
  const scale = Math.max(xx, yy, zz);
  if (!(scale > LEAST_INERTIA)) return false;
  const [a, b, c, d, e, f] = [xx, xy, xz, yy, yz, zz].map((x) => x / scale);
  const minors = [a, a * d - b * b, a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)];
  return minors.every((minor) => minor > 1e-9);
}

/** The text with an inertia for each link that has a mass and none that is positive. */
function withInertias(text: string): Mended | undefined {
  const mended: string[] = [];
  const next = text.replace(LINK, (link, name: string) => {
    const [tag] = INERTIA.exec(link) ?? [];
    if (tag === undefined || isPositive(tag)) return link;
    mended.push(name);
    const mass = numberOf(/<mass\b[^>]*>/.exec(link)?.[0] ?? "", "value");
    const inertia = String(Math.max(0.4 * mass * BALL ** 2, LEAST_INERTIA));
    const diagonal = `ixx="${inertia}" ixy="0" ixz="0" iyy="${inertia}" iyz="0" izz="${inertia}"`;
    return link.replace(INERTIA, `<inertia ${diagonal}${tag.endsWith("/>") ? "/>" : ">"}`);
  });
  if (mended.length === 0) return undefined;
  return { text: next, note: `${listed(mended)} has that of a ball of 5 cm, where its inertia was not positive` };
}

/** The text with 1 mm for each size of what collides that is none: feet of some are points. */
function withSizes(text: string): Mended | undefined {
  let points = 0;
  const next = text.replace(COLLISION, (collision) => {
    const sized = collision.replace(SIZE, (_, head: string, values: string, tail: string) => {
      const sizes = values.trim().split(/\s+/);
      return head + sizes.map((size) => (Number(size) > 0 ? size : LEAST_SIZE)).join(" ") + tail;
    });
    if (sized !== collision) points++;
    return sized;
  });
  return points === 0 ? undefined : { text: next, note: `${points} of what collides had no size, and has 1 mm` };
}

/** The text with blanks for commas between numbers. */
function withBlanks(text: string): Mended | undefined {
  const next = text.replace(/\b(?:xyz|rpy|size|scale)\s*=\s*(["'])[^"']*\1/g, (given) => given.replaceAll(",", " "));
  return next === text ? undefined : { text: next, note: "numbers have blanks between them, and no commas" };
}

/** Elements of a URDF whose children readers take by name, the first of each. */
const PARENTS = new Set(["link", "joint", "inertial", "visual", "collision", "geometry"]);

/** The text with the first of what elements have more than one of, which is what other readers of URDFs take. */
function withoutRepeats(text: string, element: string): Mended | undefined {
  const open: { readonly name: string; met: number }[] = [];
  const cuts: { readonly from: number; readonly depth: number; to?: number }[] = [];
  for (const { 0: tag, 1: closes, 2: name, 3: attributes, index } of text.matchAll(TAG)) {
    if (name === undefined) continue;
    const parent = open.at(-1);
    const isInCut = cuts.length > 0 && cuts.at(-1)!.to === undefined;
    if (closes === "/") open.pop();
    else {
      if (name === element && parent && PARENTS.has(parent.name) && parent.met++ > 0 && !isInCut)
        cuts.push({ from: index, depth: open.length });
      if (!attributes.endsWith("/")) open.push({ name, met: 0 });
    }
    const cut = cuts.at(-1);
    if (cut && cut.to === undefined && open.length === cut.depth) cut.to = index + tag.length;
  }
  if (cuts.length === 0) return undefined;
  const kept = [0, ...cuts.map(({ to }) => to)].map((from, i) => text.slice(from, cuts[i]?.from));
  return { text: kept.join(""), note: `${cuts.length} repeated <${element}> left out: the first counts` };
}

const listed = (names: readonly string[]): string =>
  names.length > 3 ? `${inLine(names[0])}, one of ${names.length} links,` : names.map(inLine).join(" or ");

/** The text with something told to MuJoCo's compiler; undefined where it is told that. */
function told(text: string, options: Record<string, string>, note: string): Mended | undefined {
  if (Object.keys(options).some((name) => new RegExp(`<compiler\\b[^>]*\\b${name}\\s*=`).test(text))) return undefined;
  const attributes = Object.entries(options).map(([name, value]) => `${name}="${value}"`);
  return { text: withCompiler(text, attributes.join(" ")), note };
}

/** A URDF nothing of which collides, with what is seen of its links in place of that; undefined where some does, or none is seen. */
export function collidingUrdf(text: string): Mended | undefined {
  // what is in a comment does not collide, and is not seen
  const said = withoutComments(text);
  if (/<collision\b/.test(said)) return undefined;
  const next = said.replace(/<visual\b(?:[^>]*[^>/])?>([^]*?)<\/visual>/g, (visual, shape: string) => {
    const plain = shape.replace(/<material\b[^>]*?(?:\/>|>[^]*?<\/material>)/g, "");
    return `${visual}<collision>${plain}</collision>`;
  });
  return next === said ? undefined : { text: next, note: "nothing of it collided: links collide as they are seen" };
}

/** A URDF whose joints say nothing of how strong they are: 0 bounds nothing, to MuJoCo as to most. */
export const withoutEfforts = (text: string): Mended => ({
  text: text.replace(/<limit\b[^>]*>/g, (limit) => limit.replace(/(\beffort\s*=\s*["'])[^"']*/, "$10")),
  note: "its joints say of no effort, as what they said could not hold it",
});

/**
 * A URDF without what MuJoCo said it refuses; undefined where nothing small mends that. Inertias that are not positive, or that
 * no body can have, bodies that move and have no mass, shapes without a size, commas and repeated elements are in many public
 * URDFs, exported from CAD or written by hand.
 */
export function mendUrdf(given: string, said: string): Mended | undefined {
  // what is in a comment is nothing of what is around it
  const text = withoutComments(given);
  if (/inertia must have positive eigenvalues/.test(said)) return withInertias(text);
  if (/use 'balanceinertia'/.test(said))
    return told(text, { balanceinertia: "true" }, "inertias that no body can have are balanced (balanceinertia)");
  if (/mass and inertia of moving bodies must be larger/.test(said))
    return told(text, BOUNDS, "what moves has at least 1 g and 1e-6 kg m^2 (boundmass, boundinertia)");
  if (/bad format in attribute '(?:xyz|rpy|size|scale)'/.test(said)) return withBlanks(text);
  if (/size \d must be positive in geom/.test(said)) return withSizes(text);
  const [, repeated] = /repeated element: '(\w+)'/.exec(said) ?? [];
  if (repeated !== undefined) return withoutRepeats(text, repeated);
  return undefined;
}
