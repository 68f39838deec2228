//go:build systematic && !simulate

package atomics

func poll(Word, uint64, int) (last uint64, found int, ok bool) { return 0, 0, false }
