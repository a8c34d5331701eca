import { describe, expect, test } from "vitest";
import { Mismatch } from "../../../src/core/schema.ts";
import type { Hulls } from "../../../src/model/hulls.ts";
import { modelKind } from "../../../src/model/model-format.ts";
import { loadModel } from "../../../src/model/model.ts";
import { boxPoints } from "../../support/hulls.ts";

const TWO = `<mujoco>
  <asset>
    <mesh name="seen" vertex="${boxPoints(2)}"/>
    <mesh name="cube" vertex="${boxPoints(1)} 0.5 0.5 0.5"/>
    <mesh name="four" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
  </asset>
  <worldbody>
    <geom type="mesh" mesh="seen" contype="0" conaffinity="0"/>
    <body><freejoint/><geom type="mesh" mesh="cube"/><geom type="mesh" mesh="cube"/><geom type="mesh" mesh="four"/></body>
  </worldbody>
</mujoco>`;

describe("hulls", () => {
  test("those that can touch are packed once, without what lies inside", async () => {
    const { hulls } = await loadModel(TWO, { visuals: true });
    const { mesh, vertadr, vertnum, polyadr, polynum } = hulls!;
    expect([...mesh]).toEqual([-1, 0, 1]);
    expect([[...vertadr], [...vertnum]]).toEqual([
      [0, 8],
      [8, 4],
    ]);
    expect([[...polyadr], [...polynum]]).toEqual([
      [0, 6],
      [6, 4],
    ]);
    // corners lie in the planes of their polygons, whose normals point out of the hull
    const at = (i: number) => hulls!.vert.subarray(3 * i, 3 * i + 3);
    const dot = (a: Float64Array, b: Float64Array) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    for (let h = 0; h < 2; h++) {
      for (let p = polyadr[h]; p < polyadr[h] + polynum[h]; p++) {
        const normal = hulls!.polynormal.subarray(3 * p, 3 * p + 3);
        const corners = [...hulls!.polyvert.subarray(hulls!.polyvertadr[p])].slice(0, hulls!.polyvertnum[p]);
        for (let v = vertadr[h]; v < vertadr[h] + vertnum[h]; v++) {
          const height = dot(normal, at(v)) - dot(normal, at(corners[0]));
          if (corners.includes(v)) expect(Math.abs(height)).toBeLessThan(1e-6);
          else expect(height).toBeLessThan(-0.1);
          const polygons = hulls!.polymap.subarray(hulls!.polymapadr[v], hulls!.polymapadr[v] + hulls!.polymapnum[v]);
          expect(polygons.includes(p)).toBe(corners.includes(v));
        }
      }
    }
    // every edge leads back
    const neighbours = (v: number) => {
      const list = [...hulls!.edge.subarray(hulls!.edgeadr[v])];
      return list.slice(0, list.indexOf(-1));
    };
    for (let v = 0; v < 12; v++) for (const n of neighbours(v)) expect(neighbours(n)).toContain(v);
  });

  test("a model of which no mesh can touch has none", async () => {
    expect((await loadModel("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")).hulls).toBeUndefined();
  });

  test("out of a file, numbers that lead outside are refused", async () => {
    const { source: _, ...model } = { ...(await loadModel(TWO)) };
    const read = (hulls: Partial<Hulls>) => modelKind.read({ ...model, hulls: { ...model.hulls, ...hulls } }, []);
    expect(read({}).hulls).toEqual(model.hulls);
    const changed = (name: keyof Hulls, i: number, x: number) => {
      const list = model.hulls![name]!.slice() as Int32Array;
      list[i] = x;
      return { [name]: list };
    };
    const cases: Partial<Hulls>[] = [
      changed("mesh", 1, 7),
      changed("vertnum", 1, 5),
      changed("edge", 0, 12),
      changed("extrema", 3, 12),
      { extrema: new Int32Array(5) },
      changed("edge", model.hulls!.edge.length - 1, 0),
      changed("edgeadr", 3, -1),
      changed("polyvert", 2, 99),
      changed("polyvertnum", 9, 4),
      changed("polynum", 1, 9),
      changed("polymap", 0, 10),
      { vert: new Float64Array(3) },
      { mesh: new Int32Array(5) },
    ];
    for (const hulls of cases) expect(() => read(hulls), JSON.stringify(Object.keys(hulls))).toThrow(Mismatch);
  });
});
