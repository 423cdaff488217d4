package k8sassigner

import (
	"context"
	"net"
	"net/http"
)

// InClusterAt is InCluster with the environment and the folder of the service account given.
var InClusterAt = inCluster

// LabelValue is the form of a namespace in names and labels.
var LabelValue = labelValue

// WrapConns lets a function replace the decrypted side of each connection of a cluster from
// InCluster.
func WrapConns(c Cluster, wrap func(net.Conn) net.Conn) {
	transport := c.Client.Transport.(*serviceAccountTransport).base.(*http.Transport)
	dial := transport.DialTLSContext
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	}
}
