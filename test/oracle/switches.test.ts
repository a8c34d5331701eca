// flags, groups and seldom-used attributes of passive forces and actuators
import { describe, expect, test } from "vitest";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { drawState, truthAt, type Fixture } from "../support/fixture.ts";

import { boundOf, describeHow, fieldDifference, HOWS, inputsOf, type StageChecks } from "../support/oracle-suite.ts";
import type { StageName } from "../../src/physics/stages.ts";
import { stageOf } from "../support/stage-table.ts";
import { evaluate } from "../support/stages.ts";

interface Parts {
  readonly option?: string;
  readonly first?: string;
  readonly second?: string;
  readonly body?: string;
  readonly rest?: string;
}

/** Two bodies in a chain, with what a case adds to them. */
const chain = (p: Parts): string => `<mujoco model="switches">
  <option ${p.option?.startsWith("<") ? "" : (p.option ?? "")}>${p.option?.startsWith("<") ? p.option : ""}</option>
  <worldbody>
    <body pos="0 0 1">
      <joint name="a" ${p.first ?? ""}/>
      <geom type="capsule" size="0.05" fromto="0 0 0  0.3 0.1 0"/>
      <body pos="0.3 0.1 0" ${p.body ?? ""}>
        <joint name="b" axis="0 1 0" ${p.second ?? ""}/>
        <geom type="box" size="0.05 0.1 0.15" pos="0.1 0 0"/>
      </body>
    </body>
  </worldbody>
  ${p.rest ?? ""}
</mujoco>`;

const tendon = (attributes: string) =>
  `<tendon><fixed name="t" ${attributes}><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon>`;
const motors = `<actuator><motor joint="a" gear="3"/><motor joint="b"/></actuator>`;

const CASES: readonly [string, string][] = [
  [
    "setpoints of servos on ball joints repeat after a turn",
    chain({
      first: `type="ball"`,
      rest: `<actuator>
        <position joint="a" gear="0 0.3 0.1" kp="3" ctrlrange="-9 9"/>
        <position jointinparent="a" gear="0 0.1 0.1" kp="3" kv="0.1" ctrlrange="-9 9"/>
        <position joint="a" gear="0.1 0 0" kp="3" timeconst="0.1" ctrlrange="-9 9"/>
        <intvelocity joint="a" gear="0.05 0 0" kp="2" actrange="-1 1" ctrlrange="-90 90"/>
        <position joint="b" gear="0.1" kp="2" ctrlrange="-9 9"/>
      </actuator>`,
    }),
  ],
  [
    "without springs and dampers there is no gravity compensation",
    chain({
      option: `<flag spring="disable" damper="disable"/>`,
      first: `stiffness="2" damping="1"`,
      body: `gravcomp="0.7"`,
    }),
  ],
  [
    "without springs alone there is",
    chain({ option: `<flag spring="disable"/>`, first: `stiffness="2" damping="1"`, body: `gravcomp="0.7"` }),
  ],
  [
    "without dampers alone there is",
    chain({ option: `<flag damper="disable"/>`, first: `stiffness="2" damping="1"`, body: `gravcomp="0.7"` }),
  ],
  [
    "without gravity there is none",
    chain({ option: `<flag gravity="disable"/>`, first: `damping="1"`, body: `gravcomp="0.7"` }),
  ],
  [
    "controls are not clamped",
    chain({ option: `<flag clampctrl="disable"/>`, rest: motors.replaceAll("/>", ` ctrlrange="-0.2 0.2"/>`) }),
  ],
  [
    "actuation disabled",
    chain({
      option: `<flag actuation="disable"/>`,
      first: `actuatorfrcrange="0.1 0.2"`,
      rest: `<actuator><intvelocity joint="a" kp="2" actrange="-1 1"/><motor joint="b" forcerange="1 2"/></actuator>`,
    }),
  ],
  ["joint force ranges without actuators", chain({ first: `actuatorfrcrange="0.1 0.2"` })],
  [
    "actuators of a disabled group",
    chain({
      option: `actuatorgroupdisable="1 2" integrator="implicitfast"`,
      rest: `<actuator>
        <motor joint="a" group="1"/><velocity joint="a" kv="2" group="1"/><motor joint="b" group="3"/>
        <position joint="b" kp="2" timeconst="0.1" group="2" forcerange="0.5 1"/>
        <general joint="b" dyntype="filterexact" dynprm="0.1" group="1" actearly="true"/>
      </actuator>`,
    }),
  ],
  [
    "gravity compensation by actuators",
    chain({ body: `gravcomp="0.7"`, second: `actuatorgravcomp="true" actuatorfrcrange="-0.2 0.2"`, rest: motors }),
  ],
  [
    "gravity compensation by actuators that are not there",
    chain({ body: `gravcomp="0.7"`, second: `actuatorgravcomp="true"` }),
  ],
  ["tendon spring and damper", chain({ rest: tendon(`stiffness="3" damping="0.5" springlength="0.05 0.1"`) })],
  [
    "tendon spring and damper under implicitfast",
    chain({ option: `integrator="implicitfast"`, rest: tendon(`stiffness="3" damping="0.5" springlength="-0.1"`) }),
  ],
  [
    "forces on a tendon within their range",
    chain({
      rest: `${tendon(`actuatorfrcrange="-0.3 0.2"`)}<actuator>
        <motor tendon="t" forcerange="-0.2 0.1"/><motor tendon="t" gear="2"/><motor joint="a"/></actuator>`,
    }),
  ],
  [
    "affine gains under implicitfast",
    chain({
      option: `integrator="implicitfast"`,
      rest: `<actuator>
        <general joint="b" gaintype="affine" gainprm="1 0.2 -0.5" dyntype="filter" dynprm="0.05" actearly="true"/>
        <general joint="a" gaintype="affine" gainprm="1 0.2 -0.5" ctrlrange="-0.1 0.1"/>
        <general joint="a" gaintype="affine" gainprm="1 0.2 -0.5" biastype="affine" biasprm="0 0 -1" forcerange="-0.3 0.3"/>
      </actuator>`,
    }),
  ],
];

const STAGES_OF: readonly { readonly name: StageName; readonly against?: StageChecks["against"] }[] = [
  { name: "tendon" },
  { name: "transmission" },
  { name: "passive" },
  { name: "actuation" },
  { name: "integrate", against: (truth) => truth.next },
];

/** MuJoCo's data, of models that `putModel` refuses too: a stage may be ahead of the pipeline. */
async function truths(xml: string): Promise<Fixture> {
  const model = await loadModel(xml);
  const states = [1, 2, 3, 5, 8];
  return withMuJoCo(model, (oracle) => ({
    name: model.name,
    given: model,
    model,
    truths: states.map((seed) => truthAt(model, oracle, drawState(model, oracle, seed), `seed ${seed}`, seed)),
  }));
}

describe("passive forces and actuation equal MuJoCo", () => {
  for (const [name, xml] of CASES) {
    test(name, async () => {
      const f = await truths(xml);
      const inputs = f.truths.map((t) => inputsOf(f, t));
      for (const { name: stageName, against } of STAGES_OF) {
        const stage = stageOf(stageName);
        for (const how of HOWS) {
          const results = await evaluate(f.model, stage, inputs, how);
          const bound = boundOf(stageName, how.on === "f64" ? "f64" : "f32");
          for (const [i, result] of results.entries()) {
            const truth = f.truths[i];
            const to = against ? { ...truth, fields: against(truth) } : truth;
            for (const field of stage.writes) {
              const label = `${truth.label}, ${describeHow(how)}: ${stageName} ${field}`;
              expect(fieldDifference(field, result[field], to), label).toBeLessThanOrEqual(bound);
            }
          }
        }
      }
    });
  }
});
