package files

import "testing"

func TestHigh(*testing.T) { high(nil) }
