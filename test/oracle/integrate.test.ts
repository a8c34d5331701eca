import { mjtIntegrator } from "../../src/model/enums.ts";
import { describeStage } from "../support/oracle-suite.ts";

// RK4 evaluates four times: step.test.ts compares it
describeStage("integrate", {
  against: (truth) => truth.next,
  only: ({ model }) => model.opt.integrator !== mjtIntegrator.RK4,
});
