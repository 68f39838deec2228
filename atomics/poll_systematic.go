//go:build systematic

package atomics

// PollWhile polls by Load and SpinHint: see the normal build.
func (x *Uint32) PollWhile(v uint32, n int) (last uint32, found int) { return pollWhile(x, v, n) }

func (x *Uint64) PollWhile(v uint64, n int) (last uint64, found int) { return pollWhile(x, v, n) }

func pollWhile[T comparable](x interface{ Load() T }, v T, n int) (last T, found int) {
	for range min(max(n, 1), maxSpin) {
		if last = x.Load(); last != v {
			break
		}
		found++
		SpinHint(1)
	}
	return last, found
}
