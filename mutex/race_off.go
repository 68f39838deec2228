//go:build !race

package mutex

import "locklab/atomics"

type (
	rwState = atomics.Uint64
	rwCount = atomics.Uint32
)
