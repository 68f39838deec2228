package backend

import (
	"context"

	"locklab/harness"
)

// FourLetters returns the answer of a ZooKeeper server to a four-letter command, such as mntr,
// over TLS if at requires it.
func FourLetters(ctx context.Context, at harness.Endpoint, addr, command string) (string, error) {
	return fourLetters(ctx, addr, command, at.TLS)
}
