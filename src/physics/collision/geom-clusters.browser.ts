// pages compare geoms one by one, to the same bits: bodies of many geoms are rare there, and clusters take room in the bundle
import type * as whole from "./geom-clusters.ts";

export const CLUSTER: typeof whole.CLUSTER = 16;
export const NO_CLUSTERS: whole.Clustered = { clusters: [], late: new Set(), make: () => {} };
export const inGroups: typeof whole.inGroups = (columns) => columns;
export const geomClusters: typeof whole.geomClusters = () => [];
export const lateGeoms: typeof whole.lateGeoms = () => NO_CLUSTERS.late;

const none = (): never => {
  throw new Error("there are no clusters in pages");
};

export const clusterBoxes: typeof whole.clusterBoxes = () => ({
  all: [],
  of: () => undefined,
  around: none,
  within: none,
  below: none,
  anyBelow: none,
});
export const besidePlane: typeof whole.besidePlane = none;
export const bitsOfCluster: typeof whole.bitsOfCluster = none;
