//go:build !((amd64 || arm64) && gc && !purego)

package atomics

import "time"

const clockName = "monotonic"

var epoch = time.Now()

func ticks() uint64 { return uint64(time.Since(epoch)) }

func clockHz() float64 { return float64(time.Second / time.Nanosecond) }
