import { describe, expect, test } from "vitest";
import { mjtCone, mjtDyn, mjtGeom, mjtIntegrator, mjtJoint, mjtTrn } from "../../../src/model/enums.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { createRandom } from "../../support/mjcf-random.ts";
import { createMjcf } from "../../support/random-mjcf.ts";

describe("random models", () => {
  test("a seed always gives the same text, another seed another", () => {
    expect(createMjcf(5)).toBe(createMjcf(5));
    expect(createMjcf(5)).not.toBe(createMjcf(6).replace("random_6", "random_5"));
  });

  test("stay calm for 200 steps of random controls", async () => {
    for (let seed = 0; seed < 60; seed++) {
      const model = await loadModel(createMjcf(seed));
      const random = createRandom(seed);
      await withMuJoCo(model, (oracle) => {
        let fastest = 0;
        for (let i = 0; i < 200; i++) {
          if (i % 10 === 0)
            oracle.write(
              "ctrl",
              Float64Array.from({ length: model.nu }, () => random.between(-1, 1)),
            );
          oracle.mujoco.mj_step(oracle.model, oracle.data);
          for (const v of oracle.read("qvel")) fastest = Math.max(fastest, Math.abs(v));
        }
        // MuJoCo sets the time back where it meets bad numbers
        const time = Math.abs(oracle.data.time - 200 * model.opt.timestep) < 1e-9;
        expect([seed, time, fastest < 500]).toEqual([seed, true, true]);
      });
    }
  });

  test("use every kind of joint, geom, actuator and option, and limits, contacts and sensors", async () => {
    const seen = {
      joint: new Set(),
      geom: new Set(),
      trn: new Set(),
      dyn: new Set(),
      integrator: new Set(),
      cone: new Set(),
      sensor: new Set(),
      condim: new Set(),
    };
    const add = (set: Set<unknown>, values: Iterable<number>) => Array.from(values, (v) => set.add(v));
    const models: Model[] = [];
    for (let seed = 0; seed < 80; seed++) {
      const model = await loadModel(createMjcf(seed));
      models.push(model);
      add(seen.joint, model.jnt_type);
      add(seen.geom, model.geom_type);
      add(seen.trn, model.actuator_trntype);
      add(seen.dyn, model.actuator_dyntype);
      add(seen.sensor, model.sensor_type);
      add(seen.condim, model.geom_condim);
      add(seen.integrator, [model.opt.integrator]);
      add(seen.cone, [model.opt.cone]);
    }
    expect(seen.joint).toEqual(new Set(Object.values(mjtJoint)));
    expect(seen.geom).toEqual(new Set([mjtGeom.PLANE, mjtGeom.SPHERE, mjtGeom.CAPSULE, mjtGeom.BOX]));
    expect(seen.trn).toEqual(new Set([mjtTrn.JOINT, mjtTrn.JOINTINPARENT, mjtTrn.TENDON]));
    expect(seen.dyn).toEqual(new Set([mjtDyn.NONE, mjtDyn.INTEGRATOR, mjtDyn.FILTER, mjtDyn.FILTEREXACT]));
    expect(seen.integrator).toEqual(
      new Set([mjtIntegrator.EULER, mjtIntegrator.RK4, mjtIntegrator.IMPLICITFAST, mjtIntegrator.IMPLICIT]),
    );
    expect(seen.cone).toEqual(new Set(Object.values(mjtCone)));
    expect(seen.condim).toEqual(new Set([1, 3, 4, 6]));
    expect(seen.sensor.size).toBeGreaterThan(25);
    for (const size of ["nmocap", "npair", "nexclude", "ngravcomp", "ntendon", "na", "neq"] as const) {
      expect([size, models.some((m) => m[size] > 0)]).toEqual([size, true]);
    }
    expect(models.some((m) => m.dof_frictionloss.some((x) => x > 0))).toBe(true);
    expect(models.some((m) => m.jnt_limited.some((x, j) => x === 1 && m.jnt_type[j] === mjtJoint.BALL))).toBe(true);
  });

  test("leave out what the options leave out", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const model = await loadModel(
        createMjcf(seed, {
          contacts: false,
          actuators: false,
          sensors: false,
          limits: false,
          frictionloss: false,
          equalities: false,
          option: { integrator: "Euler" },
        }),
      );
      await withMuJoCo(model, (oracle) => {
        oracle.mujoco.mj_forward(oracle.model, oracle.data);
        expect([seed, model.nu, model.nsensor, oracle.data.nefc, model.opt.integrator]).toEqual([seed, 0, 0, 0, 0]);
      });
    }
  });
});
