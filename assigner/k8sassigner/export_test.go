package k8sassigner

// InClusterAt is InCluster with the environment and the folder of the service account given.
var InClusterAt = inCluster
