//go:build systematic && !simulate

package atomics

// poll reports that there is no poller: the scheduler gets each load and each hint.
func poll(Word, uint64, int) (last uint64, found int, ok bool) { return 0, 0, false }
