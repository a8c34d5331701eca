import { describeStage } from "../support/oracle-suite.ts";

describeStage("factor_m");
