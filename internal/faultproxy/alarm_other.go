//go:build !linux

package faultproxy

import "time"

// fine is a timer better than the runtime's: not supported on this system.
type fine struct{}

func (fine) ready() bool              { return false }
func (fine) sleep(time.Duration) bool { return false }
func (fine) close()                   {}
