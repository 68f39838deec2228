//go:build systematic

package atomics

// PollWhile polls by Load and SpinHint, or by the poller of a model: see the normal build.
func (x *Uint32) PollWhile(v uint32, n int) (last uint32, found int) {
	n = min(max(n, 1), maxSpin)
	if got, found, ok := poll(word32(&x.v), uint64(v), n); ok {
		return uint32(got), found
	}
	for range n {
		if last = x.Load(); last != v {
			break
		}
		found++
		SpinHint(1)
	}
	return last, found
}

func (x *Uint64) PollWhile(v uint64, n int) (last uint64, found int) {
	n = min(max(n, 1), maxSpin)
	if got, found, ok := poll(word64(&x.v), v, n); ok {
		return got, found
	}
	for range n {
		if last = x.Load(); last != v {
			break
		}
		found++
		SpinHint(1)
	}
	return last, found
}
