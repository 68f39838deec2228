//go:build !linux

package faultproxy

import "time"

type fine struct{}

func (fine) ready() bool              { return false }
func (fine) sleep(time.Duration) bool { return false }
func (fine) close()                   {}
