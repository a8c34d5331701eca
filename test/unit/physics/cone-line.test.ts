import { expect, test } from "vitest";
import { mjtCone } from "../../../src/model/enums.ts";
import { contactLaw, curvature } from "../../../src/physics/constraint/cone.ts";
import { alongCone, coneLine, coneStart } from "../../../src/physics/constraint/cone-line.ts";
import { createRandom } from "../../support/mjcf-random.ts";

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((total, x, k) => total + x * b[k], 0);

test("a line of a contact has the slopes, the curvatures and the states of its force law", () => {
  const r = createRandom(3);
  const met = { free: 0, flat: 0, inCone: 0 };
  for (let seed = 0; seed < 500; seed++) {
    const dim = r.pick([3, 4, 6]);
    const condim = r.pick([1, 3, 4, 6].filter((n) => n <= dim));
    const friction = Array.from({ length: dim - 1 }, () => r.between(0.01, 1));
    const share = seed % 2 === 0 ? { share: friction.map(() => r.between(0.1, 1)) } : {};
    const tangentD = friction.map((f) => (f / friction[0]) ** 2 * 10);
    const p = { dim, condim, friction, tangentD, mu: friction[0] / Math.sqrt(10), ...share };
    const [D, alpha] = [r.between(1, 1e4), r.between(0, 2)];
    const [from, v] = [0, 1].map(() => Array.from({ length: dim }, () => r.between(-1, 1)));
    const lawAt = (a: number) =>
      contactLaw(
        mjtCone.ELLIPTIC,
        p,
        D,
        from.map((x, k) => x + a * v[k]),
      );
    const [law, before] = [lawAt(alpha), lawAt(0)];
    const at = alongCone(coneLine(p, D, from, v, coneStart(p, from)), alpha);
    const rise = dot(before.force as number[], v) - dot(law.force as number[], v);
    const scale = D * dot(v, v);
    expect(at.rise as number, `seed ${seed}`).toBeCloseTo(rise, 12 - Math.ceil(Math.log10(1 + scale)));
    expect(at.curvature as number, `seed ${seed}`).toBeCloseTo(
      curvature(law, v) as number,
      12 - Math.ceil(Math.log10(1 + scale)),
    );
    expect([at.isFree, at.inCone], `seed ${seed}`).toEqual([law.state[0], law.inCone]);
    met[law.inCone ? "inCone" : law.state[0] ? "free" : "flat"]++;
  }
  expect(Math.min(...Object.values(met))).toBeGreaterThan(50);
});
