import { describeStage } from "../support/oracle-suite.ts";

describeStage("com_vel");
