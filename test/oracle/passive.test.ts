import { describeStage } from "../support/oracle-suite.ts";

describeStage("passive");
