// tendons, equality constraints and contact pairs of a random model, drawn from what is there
import { angles, attributes, list, solver, text, type Made } from "./random-parts.ts";

/** Fixed tendons over the scalar joints. */
export function fixedTendons(made: Made): string[] {
  const r = made.random;
  const scalar = made.joints.filter((j) => j.type === "hinge" || j.type === "slide");
  if (!made.allow.tendons || scalar.length < 2 || !r.chance(0.4)) return [];
  return Array.from({ length: r.whole(1, 2) }, (_, i) => {
    const start = r.whole(0, scalar.length - 2);
    const joints = scalar.slice(start, start + r.whole(2, 3));
    const paths = joints.map((j) => `<joint joint="${j.name}" coef="${text(r.between(-1.5, 1.5))}"/>`);
    return `<fixed name="t${i}"${tendonForces(made, [-r.between(0.02, 0.5), r.between(0.02, 0.5)])}>${paths.join("")}</fixed>`;
  });
}

/** Tendons through sites, now and then around a geom or over a pulley. */
export function spatialTendons(made: Made, first: number): string[] {
  const r = made.random;
  if (!made.allow.tendons || made.sites.length < 2 || !r.chance(0.4)) return [];
  const [start, end] = [r.pick(made.sites), r.pick(made.sites)];
  if (start === end) return [];
  const site = (name: string) => `<site site="${name}"/>`;
  const over = r.chance(0.3) && made.rounds.length ? `<geom geom="${r.pick(made.rounds)}"/>` : "";
  const pulley = r.chance(0.3) ? `<pulley divisor="2"/>${site(end)}${site(start)}` : "";
  const forces = tendonForces(made, [r.between(0.05, 0.3), r.between(0.5, 1.5)], over === "");
  return [`<spatial name="t${first}"${forces}>${site(start)}${over}${site(end)}${pulley}</spatial>`];
}

/** Constraints and forces of a tendon. */
function tendonForces({ random: r, allow }: Made, range: readonly [number, number], mayHaveArmature = true): string {
  const out: Record<string, string> = {};
  let extra = "";
  if (allow.limits && r.chance(0.4)) {
    Object.assign(out, { limited: "true", range: list(...range) });
    if (r.chance(0.3)) out.margin = text(r.between(0, 0.05));
    extra += solver(r, "limit");
  }
  if (allow.frictionloss && r.chance(0.3)) {
    out.frictionloss = text(r.between(0.02, 0.3));
    extra += solver(r, "friction");
  }
  if (r.chance(0.3)) out.stiffness = text(r.between(0.5, 5));
  if (r.chance(0.3)) out.damping = text(r.between(0.01, 0.1));
  if (mayHaveArmature && r.chance(0.3)) out.armature = text(r.between(0.01, 0.1));
  return attributes(out) + extra;
}

/** Equality constraints between what is there. */
export function equalities(made: Made, tendons: number): string[] {
  const r = made.random;
  if (!made.allow.equalities || !r.chance(0.4)) return [];
  const scalar = made.joints.filter((j) => j.type === "hinge" || j.type === "slide").map((j) => j.name);
  const poly = () => list(r.between(-0.1, 0.1), r.between(-1, 1), r.between(-0.5, 0.5), r.between(-0.2, 0.2), 0.1);
  const two = (kind: string, names: readonly string[]) => {
    const [first, second] = [r.pick(names), r.pick(names)];
    return ` ${kind}1="${first}"${first === second ? "" : ` ${kind}2="${second}"`}`;
  };
  const one = (): string => {
    const active = r.chance(0.1) ? ` active="false"` : "";
    const more = `${active}${solver(r, "")}`;
    const kind = r.pick(["connect", "connect", "weld", "joint", "tendon"]);
    if (kind === "joint" && scalar.length) return `<joint${two("joint", scalar)} polycoef="${poly()}"${more}/>`;
    if (kind === "tendon" && tendons) {
      const names = Array.from({ length: tendons }, (_, i) => `t${i}`);
      return `<tendon${two("tendon", names)} polycoef="${poly()}"${more}/>`;
    }
    const scale = kind === "weld" ? ` torquescale="${text(r.between(0.3, 2))}"` : "";
    const anchor = angles(r, 0.1);
    const bodies = two("body", made.names);
    return kind === "weld"
      ? `<weld${bodies} anchor="${anchor}"${scale}${more}/>`
      : `<connect${bodies} anchor="${anchor}"${more}/>`;
  };
  return Array.from({ length: r.whole(1, 2) }, one);
}

/** Excluded body pairs and explicit geom pairs, drawn from what is there. */
export function contactPairs(made: Made): string[] {
  const r = made.random;
  const out: string[] = [];
  if (!made.allow.contacts) return out;
  if (made.names.length > 2 && r.chance(0.3)) out.push(`<exclude body1="${made.names[0]}" body2="${made.names[2]}"/>`);
  const [first, second] = [r.pick(made.geoms), r.pick(made.geoms)];
  if (first !== second && r.chance(0.3)) {
    const friction = list(r.between(0.2, 1), r.between(0.2, 1), 0.01, 0.002, 0.003);
    out.push(
      `<pair geom1="${first}" geom2="${second}" condim="${r.pick([1, 3, 4, 6])}" friction="${friction}" margin="${text(r.between(0, 0.01))}"${solver(r, "")}/>`,
    );
  }
  return out;
}
