//go:build !linux && !systematic

package atomics

import "runtime"

func yieldThread() { runtime.Gosched() }
