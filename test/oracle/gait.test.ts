// the legs of bipeds against MuJoCo's kinematics: the angles of a gait put feet level where they are to be
import { expect, test } from "vitest";
import { BIPED_GAIT } from "../../envs/biped/shared.ts";
import { G1_GAIT } from "../../envs/g1/shared.ts";
import { gaitOf, pitches } from "../../envs/gait.ts";
import { idOf } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { loadTestModel } from "../support/mjcf.ts";
import { gaitPlace } from "../support/tolerances.ts";

test.each([
  { env: "g1", gait: G1_GAIT },
  { env: "biped", gait: BIPED_GAIT },
])("$env: ankles are where they are to be, and feet are level", async ({ env, gait }) => {
  const model = await loadTestModel(`envs/${env}`);
  const { height, hip, sole, centre, joints } = gait;
  const at = (name: string) => model.jnt_qposadr[idOf(model, "joint", name)];
  await withMuJoCo(model, (oracle) => {
    const place = (kind: "body" | "site", name: string) => {
      const id = idOf(model, kind, name);
      return Array.from(oracle.read(kind === "site" ? "site_xpos" : "xpos").slice(3 * id, 3 * id + 3));
    };
    const pose = (change: (qpos: Float64Array) => void) => {
      const qpos = Float64Array.from(model.qpos0);
      qpos[2] = height;
      change(qpos);
      oracle.write("qpos", qpos);
      oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
    };
    const long = height + hip - sole;
    pose(() => undefined);
    const axis = place("body", "left_hip_pitch")[0];
    for (const [x, z] of [
      [centre, -long],
      [centre + 0.15, -long],
      [centre - 0.12, -long + 0.05],
    ]) {
      const [pitch, knee, ankle] = pitches(gait, [x, z]) as number[];
      pose((qpos) => {
        qpos[at("left_hip_pitch")] = pitch;
        qpos[at("left_knee")] = knee;
        qpos[at("left_ankle_pitch")] = ankle;
      });
      const [ax, , az] = place("body", "left_ankle_pitch");
      expect(Math.abs(ax - axis - x)).toBeLessThan(gaitPlace.value);
      expect(Math.abs(az - (height + hip + z))).toBeLessThan(gaitPlace.value);
      const id = idOf(model, "body", "left_ankle_roll");
      expect(oracle.read("xmat")[9 * id + 8]).toBeGreaterThan(1 - gaitPlace.value);
    }
    // both feet are on the ground where it stands
    pose((qpos) => {
      gaitOf(gait).standing.forEach((leg, side) =>
        leg.forEach((angle, i) => {
          qpos[at(`${side === 0 ? "left" : "right"}_${joints[i]}`)] = angle;
        }),
      );
    });
    const [left, right] = [place("site", "left_foot"), place("site", "right_foot")];
    for (const foot of [left, right]) expect(Math.abs(foot[2])).toBeLessThan(5 * gaitPlace.value);
    expect(Math.abs(left[0] - right[0])).toBeLessThan(gaitPlace.value);
    expect(Math.abs(left[1] + right[1])).toBeLessThan(gaitPlace.value);
  });
});
